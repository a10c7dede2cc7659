// Commands from a device to a thread of the host, which does in its place what it cannot do
// itself: for NICs whose queues cannot be mapped.
//
//   device                         memory of the host                  thread (../proxy_server.h)
//   Submit: command, number last ──► commands[number % entries]    ───► takes, posts
//   HasEnded, IsQuiet            ◄── done[number % entries], counts ◄── its completions
//
// Numbers run from 1 on and never stop; 0 is no command's.

#ifndef DRYDOCK_GPU_GDA_QUEUE_PROXY_RING_H_
#define DRYDOCK_GPU_GDA_QUEUE_PROXY_RING_H_

#include <cstdint>
#include <type_traits>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/words.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/transfer.h"

namespace drydock::gpu::gda {

// Of 64 bytes; the number is published last.
struct alignas(64) ProxyCommand {
  std::uint64_t number = 0;
  Transfer transfer;
};
static_assert(sizeof(ProxyCommand) == 64);

// The status of a command that the NIC never saw; others are EFA's, 0 is success. How a command
// ended is number << 8 | status.
inline constexpr std::uint32_t kProxyRefused = 255;

struct ProxyView {
  ProxyCommand* commands = nullptr;
  std::uint64_t* done = nullptr;      // of each slot: how its last command ended
  std::uint32_t* ended = nullptr;     // how many have, modulo 2^32
  std::uint64_t* failures = nullptr;  // how many failed, ever, << 8 | status of the last of them
  std::uint32_t entry_count = 0;      // a power of two
};
static_assert(std::is_trivially_copyable_v<ProxyView>);

struct ProxyState {
  std::uint64_t submitted = 0;
};

// The device's side. Not thread-safe.
class ProxyClient {
 public:
  DD_HOST_DEVICE ProxyClient(const ProxyView& view, ProxyState* home)
      : view_(view), home_(home), submitted_(home->submitted) {}
  DD_HOST_DEVICE void Save() const { home_->submitted = submitted_; }

  // Non-blocking. False: the slot's last command has not ended yet. `number`: of the command.
  DD_HOST_DEVICE bool Submit(const Transfer& transfer, std::uint64_t& number) {
    const std::uint64_t next = submitted_ + 1;
    const std::uint64_t slot = next & (view_.entry_count - 1);
    if (next > view_.entry_count && NumberDone(slot) != next - view_.entry_count) return false;
    ProxyCommand& command = view_.commands[slot];
    command.transfer = transfer;
    fabric::efa_queue::PublishWord(&command, 0, next);
    submitted_ = number = next;
    return true;
  }
  // Whether the command with this number has ended, and how. REQUIRES: it is one of the last
  // entry_count.
  DD_HOST_DEVICE bool HasEnded(std::uint64_t number, std::uint32_t& status) const {
    const std::uint64_t done =
        fabric::efa_queue::LoadPublishedWord(view_.done + (number & (view_.entry_count - 1)), 0);
    status = static_cast<std::uint32_t>(done & 0xFF);
    return done >> 8 == number;
  }
  // Whether all have.
  DD_HOST_DEVICE bool IsQuiet() const {
    return LoadShared(view_.ended) == static_cast<std::uint32_t>(submitted_);
  }
  // How many have failed, ever. `status`: of the last of them.
  DD_HOST_DEVICE std::uint32_t Failures(std::uint32_t& status) const {
    const std::uint64_t word = fabric::efa_queue::LoadPublishedWord(view_.failures, 0);
    status = static_cast<std::uint32_t>(word & 0xFF);
    return static_cast<std::uint32_t>(word >> 8);
  }

 private:
  DD_HOST_DEVICE std::uint64_t NumberDone(std::uint64_t slot) const {
    return fabric::efa_queue::LoadPublishedWord(view_.done + slot, 0) >> 8;
  }

  ProxyView view_;
  ProxyState* home_;
  std::uint64_t submitted_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_PROXY_RING_H_
