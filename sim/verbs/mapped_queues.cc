// Queues that a program drives itself, as libfabric's direct data path and GPUs do: it writes work
// requests and doorbells, and reads completions, where it was told that they are. A store to a
// hardware doorbell tells the device; a store to memory does not, so the host's thread looks at the
// word.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/sim/verbs/completion_channel.h"
#include "drydock/sim/verbs/completion_queue.h"
#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/queue_pair.h"
#include "drydock/sim/verbs/refusal.h"

namespace drydock::sim::verbs {
namespace {

// Entries that were written before a value came to the doorbell are visible once it is.
std::uint32_t Load(const std::uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

// A word keeps only the last of several values, each of which the device would have taken: its last
// value is announced in steps of at most a batch. A value that cannot be right is handed on
// unchanged, for the device to refuse, and changes nothing. Returns whether there was a new value.
template <typename Ring>
bool Take(std::uint32_t value, RungBell& bell, std::uint32_t entries, std::uint32_t batch,
          const Ring& ring) {
  if (value == bell.seen) return false;
  bell.seen = value;
  const std::uint32_t added = (value - bell.announced) & 0xFFFF;
  if (added > entries) {
    ring(value & 0xFFFF);
    return true;
  }
  const std::uint32_t end = bell.announced + added;
  while (bell.announced != end) {
    bell.announced = std::min(end, bell.announced + batch);
    ring(bell.announced & 0xFFFF);
  }
  bell.announced &= 0xFFFF;
  return true;
}

}  // namespace

QueuePair::Doorbells& QueuePair::MapRings() {
  if (mapped()) return *doorbells_;
  if (TraceOfProcess() != nullptr) {
    SayOnce(
        "efadv_query_qp_wqs: a program that writes its own work requests leaves no posts in the "
        "trace");
  }
  doorbells_ = std::make_unique<Doorbells>();
  RestartDoorbells();
  watch_ = owner_.host->Watch([this] { return TakeDoorbells(); });
  return *doorbells_;
}

void QueuePair::RestartDoorbells() {
  const std::uint32_t sends = send_producer_.posted() & 0xFFFF;
  const std::uint32_t receives = receive_producer_.posted() & 0xFFFF;
  rung_sends_.Restart(sends);
  rung_receives_.Restart(receives);
  doorbells_->send = sends;
  doorbells_->receive = receives;
}

// Before the device does anything of it: the checks do not know these requests.
void QueuePair::NoteMoved(RungBell& bell, std::uint32_t value) {
  if (value == bell.seen || bell.moved) return;
  const bool first = !driven();
  bell.moved = true;
  if (first) TellMapped(*this);
}

void QueuePair::NoteDoorbells() {
  if (!mapped()) return;
  NoteMoved(rung_sends_, Load(doorbells_->send));
  NoteMoved(rung_receives_, Load(doorbells_->receive));
}

bool QueuePair::TakeDoorbells() {
  const std::uint32_t send = Load(doorbells_->send);
  const std::uint32_t receive = Load(doorbells_->receive);
  NoteMoved(rung_sends_, send);
  NoteMoved(rung_receives_, receive);
  const bool sends =
      Take(send, rung_sends_, device_.send.entries(), device_.send.max_batch(),
           [this](std::uint32_t counter) { owner_.nic->RingSend(device_, counter); });
  const std::uint32_t descriptors = device_.receive.descriptors();
  const bool receives =
      Take(receive, rung_receives_, descriptors, descriptors,
           [this](std::uint32_t counter) { owner_.nic->RingReceive(device_, counter); });
  return sends || receives;
}

Queue::Mapping Queue::MapRing() {
  // As the driver's: none where the device has none for this queue.
  const bool rings = channel != nullptr || owner_.profile().device.cq_doorbell;
  if (rings && watch_ == 0) watch_ = owner_.host->Watch([this] { return TakeDoorbell(); });
  return {.entries = ring_->MapMemory(), .doorbell = rings ? &doorbell_ : nullptr};
}

bool Queue::TakeDoorbell() {
  const std::uint32_t value = Load(doorbell_);
  if (value == taken_) return false;
  taken_ = value;
  const auto doorbell = fabric::efa_queue::ReadCompletionDoorbell(value);
  if (doorbell.arm && channel != nullptr) {
    ring_->ArmBehind(doorbell.consumed);
    Await(*this);
  }
  return true;
}

// ---- Calls of a program ----

int QueryEfaRings(ibv_qp* ibv, WqAttr* sends, WqAttr* receives, std::uint32_t length) {
  if (length < offsetof(WqAttr, max_batch) + sizeof sends->max_batch) return EINVAL;
  QueuePair& queue_pair = QueuePairOf(ibv);
  const Calling lock(queue_pair.owner());
  sim::QueuePair& device = queue_pair.device();
  QueuePair::Doorbells& doorbells = queue_pair.MapRings();
  const WqAttr of_sends{
      .comp_mask = 0,
      .buffer = static_cast<std::uint8_t*>(device.send.Slot(0)),
      .entry_size = static_cast<std::uint32_t>(device.send.format().entry_bytes()),
      .num_entries = device.send.entries(),
      .doorbell = &doorbells.send,
      .max_batch = device.send.max_batch(),
      .caps = 0,  // no kWqWith64BitRequestIds
      .reserved = {}};
  const WqAttr of_receives{.comp_mask = 0,
                           .buffer = static_cast<std::uint8_t*>(device.receive.memory()),
                           .entry_size = sizeof(fabric::efa_queue::ReceiveDescriptor),
                           .num_entries = device.receive.descriptors(),
                           .doorbell = &doorbells.receive,
                           .max_batch = device.receive.descriptors(),
                           .caps = 0,
                           .reserved = {}};
  FillKnown(sends, length, of_sends);
  FillKnown(receives, length, of_receives);
  return 0;
}

int QueryEfaQueue(ibv_cq* ibv, CqAttr* attr, std::uint32_t length) {
  if (length < offsetof(CqAttr, doorbell)) return EINVAL;
  Queue& queue = QueueOf(ibv);
  const Calling lock(queue.owner());
  const Queue::Mapping mapping = queue.MapRing();
  const CqAttr filled{.comp_mask = 0,
                      .buffer = reinterpret_cast<std::uint8_t*>(mapping.entries),
                      .entry_size = 32,
                      .num_entries = static_cast<std::uint32_t>(queue.ring()->depth()),
                      .doorbell = mapping.doorbell};
  FillKnown(attr, length, filled);
  return 0;
}

}  // namespace drydock::sim::verbs
