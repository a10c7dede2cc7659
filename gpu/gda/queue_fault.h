// What a NIC that says why finds wrong with what a device did to its rings. A real one fails the
// work request, or says nothing at all.

#ifndef DRYDOCK_GPU_GDA_QUEUE_FAULT_H_
#define DRYDOCK_GPU_GDA_QUEUE_FAULT_H_

#include <cstdint>
#include <string>

namespace drydock::gpu::gda {

enum class QueueFaultKind : std::uint8_t {
  kSkippedSlot,      // the doorbell covers a slot that nothing was written to
  kMissingFence,     // the same, but the entry came later: the doorbell overtook it
  kWrongPhase,       // an entry of another lap
  kReservedBits,     // a bit that must be zero is set
  kMalformed,        // anything else that makes no work request
  kOverBatch,        // more than max_batch entries between two doorbells
  kOverRing,         // more entries than there are free slots, or the doorbell went back
  kNothingNew,       // a doorbell that announces nothing
  kCountNotCounter,  // a doorbell that says how many are new, and not how many there ever were
  kBadKey,  // a key that no registration has, or no longer, or not with that right or range
};
inline constexpr int kQueueFaultKinds = 10;

// "skipped slot", "missing fence", ... Static storage.
const char* QueueFaultName(QueueFaultKind kind);

struct QueueFault {
  QueueFaultKind kind = QueueFaultKind::kMalformed;
  bool receive = false;       // of the receive ring
  std::uint32_t counter = 0;  // of the entry, or how many were announced before the doorbell
  std::string text;           // one line: "send entry 17 (slot 1): ..."
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_FAULT_H_
