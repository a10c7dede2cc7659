// A doorbell record: the device writes its counter to memory, and the host rings the NIC. For
// doorbells that cannot be mapped into the device.

#ifndef DRYDOCK_GPU_GDA_BELL_RINGER_H_
#define DRYDOCK_GPU_GDA_BELL_RINGER_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/gda/host_pages.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

// Of one queue's sends. Threads: Step by one at a time.
class BellRinger {
 public:
  // `queue`: host addresses. It outlives the ringer.
  static absl::StatusOr<BellRinger> Open(const QueueView& queue) {
    ASSIGN_OR_RETURN(HostPages pages, HostPages::Allocate(sizeof(Record)));
    return BellRinger(queue, std::move(pages));
  }

  // The queue with the record in the place of its doorbell: host addresses.
  const QueueView& View() const { return view_; }

  // Rings if the record says so; true when it did. A device begins no new batch before the last one
  // was rung for, so that every batch is.
  bool Step() {
    const std::uint32_t wanted = LoadShared(&record_->wanted);
    if (wanted == rung_) return false;
    if (bell_.taken != nullptr && rung_ != kNotRung && LoadShared(bell_.taken) != rung_) {
      return false;
    }
    SystemFence();
    StoreBell(bell_.word, wanted);
    rung_ = wanted;
    StoreBell(&record_->rung, wanted);
    return true;
  }

 private:
  struct Record {
    alignas(64) std::uint32_t wanted = kNotRung;
    alignas(64) std::uint32_t rung = 0;
  };

  BellRinger(const QueueView& queue, HostPages pages)
      : pages_(std::move(pages)),
        record_(new (pages_.data()) Record),
        view_(queue),
        bell_(queue.send.bell) {
    view_.send.bell = {&record_->wanted, &record_->rung};
  }

  HostPages pages_;
  Record* record_;
  QueueView view_;
  Bell bell_;
  std::uint32_t rung_ = kNotRung;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_BELL_RINGER_H_
