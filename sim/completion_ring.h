// The completion queue as the NIC sees it: a ring of finite depth that nobody protects.

#ifndef SIM_COMPLETION_RING_H_
#define SIM_COMPLETION_RING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/operation.h"

namespace sim {

// What the NIC reports of one work request.
struct DeviceCompletion {
  std::uint16_t request_id = 0;  // as posted; undefined when unsolicited
  std::uint16_t queue_pair = 0;  // ours
  std::uint8_t status = 0;       // EFA's completion status, 0 for success
  fabric::OperationKind kind = fabric::OperationKind::kSend;
  bool has_immediate = false;
  bool unsolicited = false;  // a peer's write with immediate that consumed no receive
  std::uint32_t immediate = 0;
  std::uint64_t length_bytes = 0;
};

// Invariant: an entry that was pushed into a full ring is gone for good, as on the device:
// FI_RM_ENABLED does not protect the queue on EFA (ofiwg/libfabric
// prov/efa/docs/efa_fabric_comparison.md). It is counted.
class CompletionRing {
 public:
  // REQUIRES: depth > 0.
  explicit CompletionRing(std::size_t depth) : entries_(depth) {}

  std::size_t depth() const { return entries_.size(); }
  std::size_t size() const { return size_; }

  // Entries lost so far.
  std::uint64_t lost() const { return lost_; }

  void Push(const DeviceCompletion& completion) {
    if (size_ == entries_.size()) {
      ++lost_;
      return;
    }
    entries_[(first_ + size_) % entries_.size()] = completion;
    ++size_;
  }

  // Forgets the entries of a queue pair that is destroyed: its number, and its request ids, will
  // mean others.
  void Drop(std::uint16_t queue_pair) {
    const std::size_t before = size_;
    for (std::size_t i = 0; i < before; ++i) {
      DeviceCompletion entry;
      Pop(entry);
      if (entry.queue_pair != queue_pair) Push(entry);
    }
  }

  // Takes the oldest entry; false when there is none.
  bool Pop(DeviceCompletion& completion) {
    if (size_ == 0) return false;
    completion = entries_[first_];
    first_ = (first_ + 1) % entries_.size();
    --size_;
    return true;
  }

 private:
  std::vector<DeviceCompletion> entries_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace sim

#endif  // SIM_COMPLETION_RING_H_
