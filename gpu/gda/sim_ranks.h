// Ranks in one process: a simulated machine each, with a NIC that its device drives by several
// queues. What tests, programs and benchmarks of the device library start from.
//
//   SimRanks ranks(profile, seed, {device0, device1}, {.queues = 4, .window_bytes = 1 << 20});
//   RETURN_IF_ERROR(ranks.Open());
//   kernels on ranks.launcher(r), with ranks.port(r)

#ifndef DRYDOCK_GPU_GDA_SIM_RANKS_H_
#define DRYDOCK_GPU_GDA_SIM_RANKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/gda/device/copies_port.h"
#include "drydock/gpu/gda/device/views.h"
#include "drydock/gpu/gda/host_pages.h"
#include "drydock/gpu/gda/launcher.h"
#include "drydock/gpu/gda/service_thread.h"
#include "drydock/gpu/gda/sim_engine.h"
#include "drydock/sim/world/world.h"

namespace drydock::gpu::gda {

struct SimRanksOptions {
  std::uint32_t queues = 1;            // of each rank, up to kMaxQueues
  std::uint32_t epoch = 0;             // below SignalImmediate::kEpochs
  std::size_t window_bytes = 1 << 20;  // of each rank, without what MakeVisible uses
  bool host_memory = false;            // windows in the host's memory, not the devices'
  bool dmabuf = false;                 // the devices' are registered by dmabuf, not by address
  std::uint64_t timeout_ns = 60'000'000'000;
  std::uint64_t stores_seed = 0;  // of a stand-in's stores that linger; 0: none
  std::shared_ptr<fabric::faults::FaultEngine> faults;  // null: nothing goes wrong
};

// Devices and profile outlive it. Threads: one at a time, beside the thread that it starts.
class SimRanks {
 public:
  // One rank for each device, which may be there several times.
  SimRanks(const sim::Profile& profile, std::uint64_t seed, std::vector<Device*> devices,
           SimRanksOptions options);
  SimRanks(const SimRanks&) = delete;
  SimRanks& operator=(const SimRanks&) = delete;
  ~SimRanks();

  // Everything, and the NICs' thread runs. kInvalidArgument: no ranks or queues, or more than a
  // port's immediates and tables have room for; kFailedPrecondition: a queue's rings do not fit a
  // port, see Lane; otherwise the errors of the parts. Nothing needs to be undone after one.
  absl::Status Open();

  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }
  const PortView& port(std::uint32_t rank) const { return ranks_[rank].port; }
  // The same ranks by stores into each other's windows. kFailedPrecondition: a device does not
  // reach another's memory.
  absl::StatusOr<CopiesView> Copies(std::uint32_t rank);
  Launcher& launcher(std::uint32_t rank) { return *ranks_[rank].launcher; }
  Device& device(std::uint32_t rank) { return *ranks_[rank].device; }
  // The first error of a rank's port. While no kernel of the rank runs.
  const PortError& error(std::uint32_t rank) const {
    return *ranks_[rank].error.on_host<PortError>();
  }
  // The same for people, as far as it is known: "put, rank 1, EFA's status 7".
  std::string ErrorText(std::uint32_t rank) const;

  // Copies to and from a window. While no kernel uses those bytes.
  absl::Status Write(std::uint32_t rank, std::size_t offset, const void* bytes, std::size_t length);
  absl::Status Read(std::uint32_t rank, std::size_t offset, void* bytes, std::size_t length);
  // Fills a window with a piece of the pattern, or compares, by its device. REQUIRES: windows in
  // the devices' memory, of whole words of 8 bytes.
  absl::Status FillWindow(std::uint32_t rank, std::uint64_t seed);
  absl::StatusOr<Mismatch> VerifyWindow(std::uint32_t rank, std::uint64_t seed);
  // What all NICs found wrong with what devices did to their rings.
  std::vector<std::string> Faults();
  // The NICs' thread waits until Resume.
  void Pause() { service_.Stop(); }
  void Resume() { service_.Start(); }

 private:
  struct Queue {
    std::unique_ptr<fabric::CompletionQueue> send_queue;
    std::unique_ptr<fabric::CompletionQueue> receive_queue;
    std::unique_ptr<fabric::Endpoint> endpoint;
    SimQueue* rings = nullptr;
  };
  struct Rank {
    Device* device = nullptr;
    std::unique_ptr<fabric::Fabric> fabric;
    std::unique_ptr<fabric::Domain> domain;
    std::unique_ptr<fabric::AddressVector> peers;
    std::unique_ptr<DeviceMemory> device_memory;
    std::optional<HostPages> host_memory;
    std::unique_ptr<fabric::MemoryRegion> region;
    std::vector<Queue> queues;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Launcher> launcher;
    SharedMemory error;
    PortView port;
  };

  absl::Status OpenRank(std::uint32_t number);
  absl::Status OpenWindow(Rank& rank);
  absl::Status CopyOnce();
  absl::Status OpenQueue(Rank& rank);
  absl::Status OpenLane(Rank& rank, std::uint32_t queue);
  absl::Status Introduce(Rank& rank);

  const SimRanksOptions options_;
  sim::World world_;
  std::vector<Rank> ranks_;
  SimEngine engine_;
  ServiceThread service_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_SIM_RANKS_H_
