// The requests that one ring holds: the device's request ids on one side, the program's contexts on
// the other.

#ifndef DRYDOCK_SIM_DRIVER_REQUEST_SLOTS_H_
#define DRYDOCK_SIM_DRIVER_REQUEST_SLOTS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/operation.h"

namespace drydock::sim {

// A slot is free again only when the completion of its request was read from the completion queue,
// as on EFA. A request id is the slot, and a generation in the bits that are left of 16: an entry
// of the slot's previous use is noticed.
class RequestSlots {
 public:
  struct Request {
    fabric::Context context{};  // meaningless when not signalled
    bool signalled = false;
    fabric::OperationKind kind = fabric::OperationKind::kSend;
    std::uint16_t id = 0;
    std::uint8_t descriptors = 1;
    bool in_flight = false;
  };

  // REQUIRES: 0 < depth <= 32768.
  explicit RequestSlots(std::size_t depth)
      : depth_(depth), slot_mask_(static_cast<std::uint16_t>(std::bit_ceil(depth) - 1)) {}

  bool full() const { return free_.empty() && requests_.size() == depth_; }

  // The request id of a new request. REQUIRES: not full.
  std::uint16_t Take(const std::optional<fabric::Context>& context, fabric::OperationKind kind,
                     std::uint8_t descriptors = 1) {
    if (free_.empty()) [[unlikely]] {
      Grow();
    }
    Request& request = requests_[free_.back()];
    free_.pop_back();
    // Not copied as a whole: a load of both its parts waits for the stores that have just filled
    // them.
    request.signalled = context.has_value();
    if (request.signalled) request.context = *context;
    request.kind = kind;
    request.descriptors = descriptors;
    request.in_flight = true;
    return request.id;
  }

  // The request in flight with this id; null when there is none: the driver did not write the work
  // request. Valid until the next Take.
  DD_HOT Request* Find(std::uint16_t id) {
    const std::uint16_t slot = id & slot_mask_;
    if (slot >= requests_.size()) return nullptr;
    Request& request = requests_[slot];
    return request.in_flight && request.id == id ? &request : nullptr;
  }

  // Frees the request's slot and says what it was, as Find.
  DD_HOT const Request* Release(std::uint16_t id) {
    Request* const request = Find(id);
    if (request == nullptr) return nullptr;
    request->in_flight = false;
    request->id = static_cast<std::uint16_t>(id + slot_mask_ + 1);
    free_.push_back(id & slot_mask_);
    return request;
  }

  // Frees all of them: entries of requests until now are noticed.
  void ReleaseAll() {
    for (const Request& request : requests_) Release(request.id);
  }

 private:
  // One slot more: most rings are never as full as they may be.
  void Grow() {
    const auto slot = static_cast<std::uint16_t>(requests_.size());
    requests_.emplace_back().id = slot;
    free_.push_back(slot);
  }

  const std::size_t depth_;
  std::vector<Request> requests_;    // of the slots that were ever used
  std::vector<std::uint16_t> free_;  // of them
  const std::uint16_t slot_mask_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_REQUEST_SLOTS_H_
