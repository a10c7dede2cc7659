// The host's side of a proxy: takes a device's commands, and posts them through an endpoint of any
// fabric. An immediate is what the endpoint makes of it: libfabric on EFA swaps its bytes, and a
// peer's device, which reads entries itself, sees them so.

#ifndef DRYDOCK_GPU_GDA_PROXY_SERVER_H_
#define DRYDOCK_GPU_GDA_PROXY_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/completion_queue.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/gpu/gda/host_pages.h"
#include "drydock/gpu/gda/queue/proxy_ring.h"

namespace drydock::gpu::gda {

// Ownership: the caller's; dies before the endpoint and its queue, and when no device uses it.
// Threads: Step by one at a time, the endpoint's.
class ProxyServer {
 public:
  // `entries`: of the ring of commands; a power of two. All commands go to `peer`; `queue` is the
  // endpoint's send queue, which no other code reads. kInvalidArgument: no power of two;
  // kResourceExhausted: no memory.
  static absl::StatusOr<ProxyServer> Open(fabric::Endpoint& endpoint,
                                          fabric::CompletionQueue& queue, fabric::Peer peer,
                                          std::uint32_t entries);

  // Local memory that commands may name, by the low 32 bits of its local key. It outlives the
  // proxy.
  void Use(const fabric::MemoryRegion& region) { regions_.push_back(&region); }

  // Host addresses.
  const ProxyView& View() const { return view_; }
  // The memory behind them, to be mapped into a device.
  const HostPages& pages() const { return pages_; }

  // Posts what was submitted, reads completions; true when there was something.
  bool Step();

 private:
  ProxyServer(fabric::Endpoint& endpoint, fabric::CompletionQueue& queue, fabric::Peer peer,
              std::uint32_t entries, HostPages pages);
  // False: the queue is full, and nothing happened.
  bool Post(std::uint64_t number, const Transfer& transfer);
  const fabric::MemoryRegion* FindRegion(const Transfer& transfer) const;
  bool ReadCompletions();
  void End(std::uint64_t number, std::uint32_t status);

  fabric::Endpoint* endpoint_;
  fabric::CompletionQueue* queue_;
  fabric::Peer peer_;
  HostPages pages_;
  ProxyView view_;
  std::vector<const fabric::MemoryRegion*> regions_;
  std::uint64_t taken_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_PROXY_SERVER_H_
