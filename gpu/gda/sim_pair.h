// Two simulated machines, each with a device, whose NICs the first device drives: what the programs
// and the benchmark start from.
//
//   SimPair pair(profile, seed, device, peer_device);
//   pair.OpenFabrics() ► OpenDomains() ► OpenEndpoints() ► Connect()
//       ► OpenBuffers(bytes, place) ► Start(mode)
//   kernels on pair.launcher(), with pair.channel() and pair.Write(offset, length)
//   pair.Flush(), pair.Verify(...)
//
// Each step needs the one before.

#ifndef DRYDOCK_GPU_GDA_SIM_PAIR_H_
#define DRYDOCK_GPU_GDA_SIM_PAIR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/gda/bell_ringer.h"
#include "drydock/gpu/gda/host_pages.h"
#include "drydock/gpu/gda/kernels.h"
#include "drydock/gpu/gda/launcher.h"
#include "drydock/gpu/gda/proxy_server.h"
#include "drydock/gpu/gda/queue/channel.h"
#include "drydock/gpu/gda/service_thread.h"
#include "drydock/gpu/gda/sim_engine.h"
#include "drydock/gpu/gda/sim_queue.h"
#include "drydock/sim/world/world.h"

namespace drydock::gpu::gda {

// Where the data is: in the devices, or in the host's memory.
enum class BufferPlace : std::uint8_t { kDevice, kHost };

// Devices and profile outlive it. Threads: one at a time, beside the thread that it starts. Errors:
// those of the parts; nothing needs to be undone after one.
class SimPair {
 public:
  // The two devices may be one.
  SimPair(const sim::Profile& profile, std::uint64_t seed, Device& device, Device& peer_device);
  SimPair(const SimPair&) = delete;
  SimPair& operator=(const SimPair&) = delete;
  ~SimPair();

  // For an observer: what is put around the fabrics, with the machine's name; and what goes when
  // the NICs' thread has stopped, before the world does. Before the first step.
  using Wrapper = std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>,
                                                                const std::string& machine)>;
  void Observe(Wrapper wrapper, std::shared_ptr<void> observer) {
    wrapper_ = std::move(wrapper);
    observer_ = std::move(observer);
  }
  sim::World& world() { return world_; }

  // ---- The steps ----
  absl::Status OpenFabrics();
  absl::Status OpenDomains();
  absl::Status OpenEndpoints();
  absl::Status Connect();
  // `bytes` of each side, a multiple of 8, registered with every right.
  absl::Status OpenBuffers(std::size_t bytes, BufferPlace place);
  // The first side's device may drive its queue, in this way; the NICs' thread runs from now on.
  absl::Status Start(RingMode mode);

  // ---- What there is ----
  // Of one machine.
  std::span<const fabric::NicInfo> nics() const { return sides_[0].fabric->nics(); }
  const fabric::NicInfo& nic() const { return sides_[0].domain->nic(); }
  // Its NICs are the thread's until Pause.
  const sim::World& world() const { return world_; }
  // Numbers of the two queue pairs.
  std::uint16_t number(int side) const;
  Device& device(int side) { return *sides_[static_cast<std::size_t>(side)].device; }
  Launcher& launcher(int side) { return *sides_[static_cast<std::size_t>(side)].launcher; }
  // The queue as the host sees it; null with kProxy.
  SimQueue* queue() { return queue_; }
  // As the first device sees it.
  const ChannelView& channel() const { return channel_; }
  // The same for many blocks. kUnimplemented: with kProxy.
  absl::StatusOr<SharedView> Share();
  // From the first side's buffer to the same offset of the second one's.
  Transfer Write(std::size_t offset, std::uint32_t length) const;
  // Where kernels find the buffer of a side.
  absl::StatusOr<unsigned char*> Reach(int side);
  // A report for kernels of the first device, or `count` of them.
  absl::StatusOr<SharedMemory> Reports(std::size_t count = 1);
  // All steps at once.
  absl::Status Prepare(std::size_t bytes, BufferPlace place, RingMode mode);

  // The NICs' thread rests; no kernel may be running. Resume: it goes on.
  void Pause() { service_.Stop(); }
  void Resume() { service_.Start(); }

  // ---- Data ----
  // gpu/pattern.h in a whole buffer, made and checked where it is.
  absl::Status Fill(int side, std::uint64_t seed);
  absl::StatusOr<Mismatch> Verify(int side, std::uint64_t seed);
  // What the NIC has written is visible to kernels of the second device.
  absl::Status Flush();
  // What the NIC found wrong with what the device did; empty lines: nothing.
  std::vector<std::string> Faults();

 private:
  struct Side {
    Device* device = nullptr;
    std::unique_ptr<fabric::Fabric> fabric;
    std::unique_ptr<fabric::Domain> domain;
    std::unique_ptr<fabric::CompletionQueue> send_queue;
    std::unique_ptr<fabric::CompletionQueue> receive_queue;
    std::unique_ptr<fabric::AddressVector> peers;
    std::unique_ptr<DeviceMemory> device_memory;
    std::optional<HostPages> host_memory;
    std::unique_ptr<fabric::MemoryRegion> region;
    std::unique_ptr<fabric::Endpoint> endpoint;
    fabric::Peer peer{};  // the other side
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Launcher> launcher;
  };

  absl::Status OpenBuffer(Side& side, std::size_t bytes, BufferPlace place);
  absl::Status StartQueue(RingMode mode);
  absl::Status StartProxy();
  Side& at(int side) { return sides_[static_cast<std::size_t>(side)]; }
  const Side& at(int side) const { return sides_[static_cast<std::size_t>(side)]; }

  sim::World world_;
  Wrapper wrapper_;
  std::shared_ptr<void> observer_;
  std::array<Side, 2> sides_;
  SimEngine engine_;
  SimQueue* queue_ = nullptr;
  std::optional<BellRinger> ringer_;
  std::optional<ProxyServer> proxy_;
  ChannelView channel_;
  ServiceThread service_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_SIM_PAIR_H_
