// Keeps the device supplied with receives.

#ifndef DRYDOCK_SIM_RDM_PACKET_RECEIVER_H_
#define DRYDOCK_SIM_RDM_PACKET_RECEIVER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "drydock/fabric/endpoint.h"
#include "drydock/sim/rdm/device_context.h"
#include "drydock/sim/rdm/packet_pool.h"

namespace drydock::sim::rdm {

// Every packet of the pool is either posted, or at a caller's between its completion and GiveBack.
// Not thread-safe. The device outlives it.
class PacketReceiver {
 public:
  // `refill`: posts again when so many are missing.
  PacketReceiver(PacketPool pool, fabric::Endpoint& device, std::size_t refill)
      : pool_(std::move(pool)),
        device_(device),
        refill_(std::clamp<std::size_t>(refill, 1, std::max<std::size_t>(1, pool_.packets() / 2))) {
    for (std::size_t i = 0; i < pool_.packets(); ++i) {
      missing_.push_back(static_cast<std::uint32_t>(i));
    }
    Refill();
  }

  // The bytes of a receive. REQUIRES: `length_bytes` is that of its completion.
  std::span<const std::byte> bytes(std::uint32_t index, std::uint64_t length_bytes) {
    const std::span<std::byte> all = pool_.bytes(index);
    return all.first(std::min<std::size_t>(all.size(), static_cast<std::size_t>(length_bytes)));
  }
  void GiveBack(std::uint32_t index) { missing_.push_back(index); }

  // The caller keeps one for long: the device has a receive less until ReleaseKept.
  void Keep() { ++kept_; }
  void ReleaseKept(std::uint32_t index) {
    --kept_;
    GiveBack(index);
  }

  void Refill() {
    const std::size_t posted = pool_.packets() - kept_ - missing_.size();
    if (missing_.empty() || (missing_.size() < refill_ && posted >= refill_)) return;
    batch_.clear();
    for (const std::uint32_t index : missing_) {
      batch_.push_back({.buffer = pool_.buffer(index, pool_.packet_bytes()),
                        .context = MakeContext(DeviceRequest::kPacketReceive, index)});
    }
    const fabric::PostResult result = device_.Recv(batch_);
    missing_.erase(missing_.begin(),
                   missing_.begin() + static_cast<std::ptrdiff_t>(result.accepted));
  }

 private:
  PacketPool pool_;
  fabric::Endpoint& device_;
  const std::size_t refill_;
  std::size_t kept_ = 0;
  std::vector<std::uint32_t> missing_;
  std::vector<fabric::RecvRequest> batch_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_PACKET_RECEIVER_H_
