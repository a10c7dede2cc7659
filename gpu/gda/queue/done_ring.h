// Reading a ring that the NIC fills, and noticing that it came round.

#ifndef DRYDOCK_GPU_GDA_QUEUE_DONE_RING_H_
#define DRYDOCK_GPU_GDA_QUEUE_DONE_RING_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

enum class PollResult : std::uint8_t {
  kOk,
  kEmpty,
  kUnexpected,  // a completion of nothing that was announced; it was consumed
  kMalformed,   // an entry that no EFA writes; it was consumed
  kOverrun,     // the NIC has come round: completions are lost, and counts with them
};

DD_HOST_DEVICE DD_HOT const unsigned char* EntryOf(const DoneRing& ring, std::uint32_t slot) {
  return static_cast<const unsigned char*>(ring.entries) + std::uint64_t{slot} * ring.entry_bytes;
}

// For one thread and the rings of one queue.
class OverrunWatch {
 public:
  // Takes the next completion. Never kUnexpected.
  DD_HOST_DEVICE DD_HOT PollResult Poll(const DoneRing& ring,
                                        fabric::efa_queue::CompletionConsumer& at,
                                        fabric::efa_queue::Completion& done) {
    using fabric::efa_queue::CqeSize;
    using fabric::efa_queue::Malformed;
    const CqeSize size = ring.entry_bytes == 32 ? CqeSize::k32 : CqeSize::k16;
    const Malformed why =
        fabric::efa_queue::DecodeCompletion(EntryOf(ring, at.slot()), size, at.phase(), done);
    if (why == Malformed::kWrongPhase) return Empty(ring, at);
    at.Pop();
    return why == Malformed::kNone ? PollResult::kOk : PollResult::kMalformed;
  }

  // Nothing is where the next completion would be. Is there something in the last slot of this lap,
  // which is written after it?
  DD_HOST_DEVICE DD_HOT PollResult Empty(const DoneRing& ring,
                                         const fabric::efa_queue::CompletionConsumer& at) {
    using fabric::efa_queue::CompletionIsThere;
    if (++empty_polls_ % kPollsBetweenChecks != 0) return PollResult::kEmpty;
    const std::uint32_t last = ring.entry_count - 1;
    const bool lapped =
        last != 0 && CompletionIsThere(EntryOf(ring, at.slot(last)), at.phase(last));
    // It may all have been written since the first look: then this one is here, too.
    const bool here = CompletionIsThere(EntryOf(ring, at.slot()), at.phase());
    return lapped && !here ? PollResult::kOverrun : PollResult::kEmpty;
  }

 private:
  // A look at a second entry costs a GPU another trip over PCIe.
  static constexpr std::uint32_t kPollsBetweenChecks = 64;

  std::uint32_t empty_polls_ = 0;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_DONE_RING_H_
