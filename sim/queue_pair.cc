#include "sim/queue_pair.h"

namespace sim {
namespace {

namespace efa = fabric::efa_queue;

fabric::OperationKind KindOf(efa::Operation operation) {
  switch (operation) {
    case efa::Operation::kRead:
      return fabric::OperationKind::kRead;
    case efa::Operation::kWrite:
      return fabric::OperationKind::kWrite;
    default:
      return fabric::OperationKind::kSend;
  }
}

Segment ToSegment(const efa::BufferDescriptor& descriptor) {
  return {.address = descriptor.address, .length = descriptor.length, .lkey = descriptor.lkey};
}

}  // namespace

FetchResult SendQueue::Fetch(std::uint32_t ahead, Operation& operation) {
  efa::SendWork work;
  const efa::Malformed malformed = Decode(ahead, work);
  if (malformed != efa::Malformed::kNone) [[unlikely]] {
    operation.request_id = static_cast<std::uint16_t>(
        efa::LoadWord(Slot((fetcher_.fetched() + ahead) & (entries() - 1)), 0));
    operation.kind = fabric::OperationKind::kSend;
    return malformed == efa::Malformed::kUnknownOperation ? FetchResult::kUnknownOperation
                                                          : FetchResult::kMalformed;
  }
  operation.request_id = static_cast<std::uint16_t>(work.request_id);
  operation.kind = KindOf(work.operation);
  operation.has_immediate = work.has_immediate;
  operation.immediate = work.immediate;
  operation.is_inline = work.is_inline;
  operation.address_handle = work.address_handle;
  operation.destination_queue_pair = work.destination_queue_pair;
  operation.destination_qkey = work.qkey;
  operation.remote_address = work.remote.address;
  operation.remote_key = work.remote.rkey;
  operation.segment_count = work.segment_count;
  operation.length = 0;
  if (work.is_inline) {
    operation.length = work.inline_bytes;
    if (work.inline_bytes > 0)
      std::memcpy(operation.inline_data.data(), work.inline_data, work.inline_bytes);
    return FetchResult::kOk;
  }
  for (std::uint8_t i = 0; i < work.segment_count; ++i) {
    operation.segments[i] = ToSegment(work.segments[i]);
    operation.length += work.segments[i].length;
  }
  return FetchResult::kOk;
}

bool ReceiveQueue::Peek(ReceiveWork& receive) const {
  const std::uint32_t announced = fetcher_.pending();
  if (announced == 0) return false;
  efa::ReceiveWork work;
  const efa::Malformed malformed = efa::DecodeReceive(
      memory_.data(), fetcher_.entries(), fetcher_.fetched(), announced, max_segments_, work);
  receive = ReceiveWork();
  receive.request_id = work.request_id;
  receive.malformed = malformed != efa::Malformed::kNone;
  receive.descriptors = receive.malformed ? 1 : work.segment_count;
  receive.segment_count = receive.malformed ? 0 : work.segment_count;
  for (std::uint8_t i = 0; i < receive.segment_count; ++i) {
    receive.segments[i] = ToSegment(work.segments[i]);
    receive.length += work.segments[i].length;
  }
  return true;
}

}  // namespace sim
