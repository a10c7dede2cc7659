#include "drydock/sim/device/receive_queue.h"

namespace drydock::sim {

namespace efa = fabric::efa_queue;

bool ReceiveQueue::Look(const efa::Fetcher& fetcher, ReceiveWork& receive) const {
  const std::uint32_t announced = fetcher.pending();
  if (announced == 0) return false;
  efa::ReceiveWork work;
  const efa::Malformed malformed = efa::DecodeReceive(
      memory_.data(), fetcher.entries(), fetcher.fetched(), announced, max_segments_, work);
  receive = ReceiveWork();
  receive.request_id = work.request_id;
  receive.malformed = malformed != efa::Malformed::kNone;
  receive.descriptors = receive.malformed ? 1 : work.segment_count;
  receive.segment_count = receive.malformed ? 0 : work.segment_count;
  for (std::uint8_t i = 0; i < receive.segment_count; ++i) {
    const efa::BufferDescriptor& segment = work.segments[i];
    receive.segments[i] = {segment.address, segment.length, segment.lkey};
    receive.length += segment.length;
  }
  return true;
}

std::size_t ReceiveQueue::receives() const {
  efa::Fetcher next = fetcher_;
  ReceiveWork receive;
  std::size_t count = 0;
  for (; Look(next, receive); ++count) next.Fetch(receive.descriptors);
  return count;
}

}  // namespace drydock::sim
