// A completion queue as the NIC sees it: a ring of 32-byte entries in host memory, of finite depth.
// Nothing protects it.

#ifndef DRYDOCK_SIM_DEVICE_COMPLETION_RING_H_
#define DRYDOCK_SIM_DEVICE_COMPLETION_RING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/memory/zeroed_array.h"

namespace drydock::sim {

// The NIC's report of one work request. address_handle and source_queue_pair, neighbours in the
// entry, are apart here: GCC would copy both in one piece, which waits until they are written.
struct DeviceCompletion {
  std::uint16_t request_id = 0;  // as posted; undefined when unsolicited
  std::uint16_t queue_pair = 0;  // ours
  // Of the sender, in receive completions.
  std::uint16_t source_queue_pair = 0;
  std::uint8_t status = 0;  // EfaStatus
  fabric::OperationKind kind = fabric::OperationKind::kSend;
  bool has_immediate = false;
  bool unsolicited = false;  // a peer's write with immediate that consumed no receive
  std::uint32_t immediate = 0;
  // Of the sender, in receive completions.
  std::uint16_t address_handle = fabric::efa_queue::kUnknownAddressHandle;
  std::uint32_t length_bytes = 0;
  Gid source_gid{};  // of the sender of a message whose address handle is unknown
};

// The device writes, the driver reads; both count entries since the beginning. FI_RM_ENABLED does
// not protect the queue on EFA (ofiwg/libfabric prov/efa/docs/efa_fabric_comparison.md): where an
// entry finds the ring full, one is lost for good, and counted. Which one depends on the doorbell:
//
//   with it      the device knows how far the driver has read: the entry itself is lost
//   without it   the device goes on, and the oldest entry is lost. The phase in its place is that
//                of the next lap: the driver sees nothing until the device has come around once
//                more, and then goes on with what it finds
class CompletionRing {
 public:
  // REQUIRES: depth is a power of two. `number` is the device's, `serial` the world's. `memory`:
  // where the entries are, depth * 32 bytes, aligned to 8, which outlive the ring; null: the ring
  // has its own. As on the device, memory that is given is filled with zeros.
  CompletionRing(std::uint16_t number, std::uint32_t serial, std::size_t depth,
                 std::byte* memory = nullptr, bool doorbell = true)
      : number_(number),
        serial_(serial),
        producer_(static_cast<std::uint32_t>(depth)),
        consumer_(static_cast<std::uint32_t>(depth)),
        own_(memory == nullptr ? depth * kEntryBytes / sizeof(std::uint64_t) : 0),
        entries_(memory == nullptr ? own_.data() : reinterpret_cast<std::uint64_t*>(memory)),
        doorbell_(doorbell) {}
  CompletionRing(const CompletionRing&) = delete;
  CompletionRing& operator=(const CompletionRing&) = delete;

  std::uint16_t number() const { return number_; }
  // Which of all completion queues that its world ever had, from 1.
  std::uint32_t serial() const { return serial_; }
  std::size_t depth() const { return producer_.entries(); }
  // The memory that the device writes, depth() entries of 32 bytes.
  const std::byte* memory() const { return reinterpret_cast<const std::byte*>(entries_); }
  // The program reads that memory itself and does not report how far it has read: from now on the
  // ring is one without a doorbell, and the entries that it loses are not counted.
  std::byte* MapMemory() {
    mapped_ = true;
    doorbell_ = false;
    return reinterpret_cast<std::byte*>(entries_);
  }
  bool mapped() const { return mapped_; }

  // Whether the device knows how far the driver has read.
  bool doorbell() const { return doorbell_; }

  // --- The device's side ---
  // False when an entry was lost: this one, or without a doorbell the oldest. Inlined: most fields
  // are constants where it is called.
  DD_HOT bool Push(const DeviceCompletion& completion);
  // Entries that were lost unread.
  std::uint64_t lost() const { return lost_; }
  // The driver asked for an event with the next entry (the arm bit of the queue's doorbell), and
  // one is there: true once.
  bool TakeEvent() { return std::exchange(event_, false); }

  // --- The driver's side ---
  bool empty() const {
    return !fabric::efa_queue::CompletionIsThere(Slot(consumer_.slot()), consumer_.phase());
  }
  // The oldest entry, 32 bytes; null when there is none. Valid until Pop.
  const void* Peek() const {
    const void* slot = Slot(consumer_.slot());
    return fabric::efa_queue::CompletionIsThere(slot, consumer_.phase()) ? slot : nullptr;
  }
  // The phase of the oldest entry.
  unsigned phase() const { return consumer_.phase(); }
  // The oldest entry, read. kWrongPhase: there is none. Any other but kNone: it means nothing.
  DD_HOT fabric::efa_queue::Malformed Read(fabric::efa_queue::Completion& entry) const {
    return fabric::efa_queue::DecodeCompletion(
        Slot(consumer_.slot()), fabric::efa_queue::CqeSize::k32, consumer_.phase(), entry);
  }
  // REQUIRES: not empty.
  void Pop() {
    if (overrun_) [[unlikely]]
      CatchUp();
    consumer_.Pop();
  }
  // Asks for an event with the next entry.
  void Arm() { armed_ = true; }
  // The same by a doorbell that may be seen late: `consumed`, low 16 bits, is how far the driver
  // had read when it wrote it. An entry behind that has come meanwhile, and the event is due.
  void ArmBehind(std::uint16_t consumed) {
    event_ = static_cast<std::uint16_t>(producer_.produced()) != consumed;
    armed_ = !event_;
  }

 private:
  static constexpr std::size_t kEntryBytes = 32;

  // Entries that were read or passed over, modulo 2^32.
  std::uint32_t consumed() const { return consumer_.consumed() + passed_over_; }
  // The oldest entry is of a later lap than the driver takes it for: the entries between are lost.
  void CatchUp();

  void* Slot(std::uint32_t slot) { return entries_ + slot * (kEntryBytes / 8); }
  const void* Slot(std::uint32_t slot) const { return entries_ + slot * (kEntryBytes / 8); }

  const std::uint16_t number_;
  const std::uint32_t serial_;
  fabric::efa_queue::CompletionProducer producer_;
  fabric::efa_queue::CompletionConsumer consumer_;
  ZeroedArray<std::uint64_t> own_;
  std::uint64_t* const entries_;
  std::uint64_t lost_ = 0;
  std::uint32_t passed_over_ = 0;
  bool doorbell_;
  bool overrun_ = false;  // unread entries were overwritten
  bool mapped_ = false;
  bool armed_ = false;
  bool event_ = false;
};

inline void CompletionRing::CatchUp() {
  // The last entry that was written to the driver's slot, and how many are left of those before it.
  const std::uint32_t produced = producer_.produced();
  const auto depth = static_cast<std::uint32_t>(producer_.entries());
  const std::uint32_t found = produced - 1 - (produced - 1 - consumed()) % depth;
  if (found == consumed()) return;
  lost_ += found - (produced - depth);
  passed_over_ += found - consumed();
  overrun_ = false;
}

DD_HOT bool CompletionRing::Push(const DeviceCompletion& completion) {
  using fabric::OperationKind;
  const bool full = producer_.full(consumed()) && !mapped_;
  if (full) [[unlikely]] {
    ++lost_;
    if (doorbell_) return false;
    overrun_ = true;
  }
  fabric::efa_queue::Completion entry;
  const bool write =
      completion.kind == OperationKind::kWrite || completion.kind == OperationKind::kRemoteWrite;
  const bool received =
      completion.kind == OperationKind::kReceive || completion.kind == OperationKind::kRemoteWrite;
  entry.request_id = completion.request_id;
  entry.queue_pair = completion.queue_pair;
  entry.status = static_cast<fabric::efa_queue::CompletionStatus>(completion.status);
  entry.queue =
      received ? fabric::efa_queue::QueueType::kReceive : fabric::efa_queue::QueueType::kSend;
  entry.operation = write                                     ? fabric::efa_queue::Operation::kWrite
                    : completion.kind == OperationKind::kRead ? fabric::efa_queue::Operation::kRead
                                                              : fabric::efa_queue::Operation::kSend;
  entry.has_immediate = completion.has_immediate;
  entry.unsolicited = completion.unsolicited;
  entry.address_handle = completion.address_handle;
  entry.source_queue_pair = completion.source_queue_pair;
  entry.immediate = completion.immediate;
  entry.length = completion.length_bytes;
  if (completion.address_handle == fabric::efa_queue::kUnknownAddressHandle) {
    std::memcpy(entry.source_gid, completion.source_gid.data(), sizeof entry.source_gid);
  }
  fabric::efa_queue::EncodeCompletion(entry, fabric::efa_queue::CqeSize::k32, producer_.phase(),
                                      Slot(producer_.slot()));
  producer_.Push();
  if (armed_) {
    armed_ = false;
    event_ = true;
  }
  return !full;
}

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_COMPLETION_RING_H_
