#include "drydock/sim/device/send_queue.h"

#include <cstring>

namespace drydock::sim {
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

}  // namespace

FetchResult SendQueue::Fetch(Operation& operation) {
  efa::SendWork work;
  const efa::Malformed malformed = Decode(0, work);
  const std::uint32_t slot = fetcher_.fetched() & (entries() - 1);
  fetcher_.Fetch(1);
  if (malformed != efa::Malformed::kNone) [[unlikely]] {
    operation.request_id = static_cast<std::uint16_t>(efa::LoadWord(Slot(slot), 0));
    return malformed == efa::Malformed::kUnknownOperation ? FetchResult::kUnknownOperation
                                                          : FetchResult::kMalformed;
  }
  operation.request_id = static_cast<std::uint16_t>(work.request_id);
  operation.kind = KindOf(work.operation);
  operation.has_immediate = work.has_immediate;
  operation.immediate = work.immediate;
  operation.completion_requested = work.completion_requested;
  operation.is_inline = work.is_inline;
  operation.address_handle = work.address_handle;
  operation.destination_queue_pair = work.destination_queue_pair;
  operation.destination_qkey = work.qkey;
  operation.remote_address = work.remote.address;
  operation.remote_key = work.remote.rkey;
  operation.segment_count = work.segment_count;
  if (work.is_inline) {
    operation.length = work.inline_bytes;
    if (work.inline_bytes > 0)
      std::memcpy(operation.inline_data.data(), work.inline_data, work.inline_bytes);
    return FetchResult::kOk;
  }
  for (std::uint8_t i = 0; i < work.segment_count; ++i) {
    const efa::BufferDescriptor& segment = work.segments[i];
    operation.segments[i] = {segment.address, segment.length, segment.lkey};
    operation.length += segment.length;
  }
  return FetchResult::kOk;
}

}  // namespace drydock::sim
