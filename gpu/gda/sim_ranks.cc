#include "drydock/gpu/gda/sim_ranks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/memory.h"
#include "drydock/gpu/gda/device/immediate.h"
#include "drydock/sim/driver/sim_fabric.h"

namespace drydock::gpu::gda {

SimRanks::SimRanks(const sim::Profile& profile, std::uint64_t seed, std::vector<Device*> devices,
                   SimRanksOptions options)
    : options_(std::move(options)),
      world_(seed, profile, sim::kAsFastAsItGoes),
      ranks_(devices.size()),
      engine_(world_) {
  if (options_.faults != nullptr) world_.UseFaultEngine(options_.faults);
  std::vector<Device*> attached;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    ranks_[i].device = devices[i];
    if (std::find(attached.begin(), attached.end(), devices[i]) != attached.end()) continue;
    world_.AttachDevice(devices[i]->peer_memory());
    attached.push_back(devices[i]);
  }
}

SimRanks::~SimRanks() {
  service_.Stop();
  for (Rank& rank : ranks_) rank.launcher.reset();  // it has the rings' memory mapped
}

absl::Status SimRanks::Open() {
  const auto within = [](const char* what, std::size_t value, std::size_t most) {
    if (value >= 1 && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(value, " ", what, ": a port has 1 to ", most));
  };
  RETURN_IF_ERROR(within("ranks", ranks_.size(), kMaxRanks));
  RETURN_IF_ERROR(within("queues", options_.queues, kMaxQueues));
  RETURN_IF_ERROR(within("epochs", options_.epoch + 1, SignalImmediate::kEpochs));
  for (std::uint32_t i = 0; i < size(); ++i) RETURN_IF_ERROR(OpenRank(i));
  for (Rank& rank : ranks_) RETURN_IF_ERROR(Introduce(rank));
  RETURN_IF_ERROR(CopyOnce());
  service_.Add([this] { return engine_.Step(); });
  service_.Start();
  return absl::OkStatus();
}

absl::Status SimRanks::OpenRank(std::uint32_t number) {
  Rank& rank = ranks_[number];
  rank.fabric = sim::OpenSimFabric(world_, world_.AddNode(absl::StrCat("rank", number)));
  ASSIGN_OR_RETURN(rank.domain, rank.fabric->OpenDomain(0));
  ASSIGN_OR_RETURN(rank.peers, rank.domain->OpenAddressVector());
  ASSIGN_OR_RETURN(rank.launcher, OpenLauncher(*rank.device, options_.stores_seed));
  RETURN_IF_ERROR(OpenWindow(rank));
  PortView& port = rank.port;
  port.rank = number;
  port.ranks = size();
  port.queues = options_.queues;
  port.epoch = options_.epoch;
  port.timeout_ns = options_.timeout_ns;
  port.window_bytes = options_.window_bytes;
  port.lkey = static_cast<std::uint32_t>(rank.region->local_key());
  ASSIGN_OR_RETURN(void* const state, rank.launcher->AllocateScratch(sizeof(PortState)));
  port.state = static_cast<PortState*>(state);
  ASSIGN_OR_RETURN(rank.error, rank.launcher->AllocateShared(sizeof(PortError)));
  *rank.error.on_host<PortError>() = PortError();
  port.error = rank.error.on_device<PortError>();
  for (std::uint32_t queue = 0; queue < options_.queues; ++queue) {
    RETURN_IF_ERROR(OpenQueue(rank));
    RETURN_IF_ERROR(OpenLane(rank, queue));
  }
  return absl::OkStatus();
}

absl::Status SimRanks::OpenWindow(Rank& rank) {
  const std::size_t bytes = options_.window_bytes + kFlushBytes;
  ASSIGN_OR_RETURN(rank.stream, rank.device->OpenStream());
  fabric::MemoryRequest request;
  std::optional<Dmabuf> dmabuf;  // until it was registered
  if (options_.host_memory) {
    ASSIGN_OR_RETURN(HostPages pages, HostPages::Allocate(bytes));
    request.data = pages.data();
    request.length_bytes = bytes;
    rank.host_memory.emplace(std::move(pages));
    ASSIGN_OR_RETURN(void* const mapped,
                     rank.launcher->Map(rank.host_memory->data(), bytes, MappedMemory::kHost));
    rank.port.local = static_cast<unsigned char*>(mapped);
  } else {
    ASSIGN_OR_RETURN(rank.device_memory, rank.device->Allocate(bytes));
    if (options_.dmabuf) {
      ASSIGN_OR_RETURN(Dmabuf exported, rank.device_memory->ExportDmabuf());
      dmabuf.emplace(std::move(exported));
    }
    request =
        RequestFor(*rank.device, *rank.device_memory, dmabuf.has_value() ? &*dmabuf : nullptr);
    ASSIGN_OR_RETURN(rank.port.local, rank.launcher->Reach(rank.device_memory->address(), bytes));
  }
  ASSIGN_OR_RETURN(rank.region, rank.domain->RegisterMemory(request));
  return absl::OkStatus();
}

// The NICs will copy like this while kernels wait for it: whatever the driver loads for the first
// copy of its kind, it must not have to wait for those kernels.
absl::Status SimRanks::CopyOnce() {
  constexpr std::size_t kKinds[] = {8, 4096, 65536};
  for (Rank& to : ranks_) {
    if (to.host_memory.has_value()) continue;
    for (const Rank& from : ranks_) {
      for (const std::size_t bytes : kKinds) {
        if (bytes > options_.window_bytes) continue;
        RETURN_IF_ERROR(
            to.stream->Copy(to.device_memory->address(), from.device_memory->address(), bytes));
      }
    }
    RETURN_IF_ERROR(to.stream->Synchronize());
  }
  return absl::OkStatus();
}

absl::Status SimRanks::OpenQueue(Rank& rank) {
  Queue queue;
  ASSIGN_OR_RETURN(queue.send_queue, rank.domain->OpenCompletionQueue({}));
  ASSIGN_OR_RETURN(queue.receive_queue, rank.domain->OpenCompletionQueue({}));
  fabric::EndpointOptions options;
  options.send_queue = queue.send_queue.get();
  options.receive_queue = queue.receive_queue.get();
  options.address_vector = rank.peers.get();
  ASSIGN_OR_RETURN(queue.endpoint, rank.domain->OpenEndpoint(options));
  ASSIGN_OR_RETURN(queue.rings, engine_.Open(*queue.endpoint));
  rank.queues.push_back(std::move(queue));
  return absl::OkStatus();
}

absl::Status SimRanks::OpenLane(Rank& rank, std::uint32_t queue) {
  LaneView& lane = rank.port.lanes[queue];
  ASSIGN_OR_RETURN(lane.queue,
                   MapQueue(*rank.launcher, rank.queues[queue].rings->View(), MappedMemory::kHost));
  const std::uint32_t entries = lane.queue.send.entry_count;
  if (entries > kMaxLaneEntries || lane.queue.send_done.entry_count < entries) {
    return absl::FailedPreconditionError(
        absl::StrCat("open port: a send ring of ", entries, " entries and a completion ring of ",
                     lane.queue.send_done.entry_count, ": a port takes up to ", kMaxLaneEntries,
                     " and no fewer completions"));
  }
  ASSIGN_OR_RETURN(void* const state, rank.launcher->AllocateScratch(sizeof(LaneState)));
  ASSIGN_OR_RETURN(void* const laps, rank.launcher->AllocateScratch(entries * sizeof(*lane.laps)));
  ASSIGN_OR_RETURN(void* const notes,
                   rank.launcher->AllocateScratch(entries * sizeof(*lane.notes)));
  lane.state = static_cast<LaneState*>(state);
  lane.laps = static_cast<std::uint32_t*>(laps);
  lane.notes = static_cast<std::uint32_t*>(notes);
  return absl::OkStatus();
}

// Queue q of each rank speaks to queue q of every other, and of itself.
absl::Status SimRanks::Introduce(Rank& rank) {
  for (std::uint32_t i = 0; i < size(); ++i) {
    const Rank& other = ranks_[i];
    const fabric::RemoteBuffer window = other.region->remote();
    rank.port.windows[i] = {window.address, static_cast<std::uint32_t>(window.key)};
    for (std::uint32_t queue = 0; queue < options_.queues; ++queue) {
      const fabric::Address address = other.queues[queue].endpoint->address();
      ASSIGN_OR_RETURN(const fabric::Peer peer, rank.peers->Insert(address));
      ASSIGN_OR_RETURN(rank.port.peers[queue][i], rank.queues[queue].rings->PeerOf(peer, address));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CopiesView> SimRanks::Copies(std::uint32_t rank) {
  const Rank& own = ranks_[rank];
  CopiesView view;
  view.rank = rank;
  view.ranks = size();
  view.timeout_ns = options_.timeout_ns;
  view.local = own.port.local;
  view.error = own.port.error;
  for (std::uint32_t i = 0; i < size(); ++i) {
    RETURN_IF_ERROR(own.launcher->ReachPeer(*ranks_[i].launcher));
    view.windows[i] = ranks_[i].port.local;
    view.states[i] = ranks_[i].port.state;
  }
  return view;
}

std::string SimRanks::ErrorText(std::uint32_t rank) const {
  const PortError& it = error(rank);
  std::string text = PortOperationName(it.operation);
  if (it.peer != kNoPeer) absl::StrAppend(&text, ", rank ", it.peer);
  if (it.status != 0) absl::StrAppend(&text, ", EFA's status ", it.status);
  return text;
}

absl::Status SimRanks::Write(std::uint32_t rank, std::size_t offset, const void* bytes,
                             std::size_t length) {
  Rank& it = ranks_[rank];
  if (it.host_memory.has_value()) {
    std::memcpy(it.host_memory->data() + offset, bytes, length);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(it.stream->CopyFromHost(it.device_memory->address() + offset,
                                          static_cast<const std::byte*>(bytes), length));
  return it.stream->Synchronize();
}

absl::Status SimRanks::Read(std::uint32_t rank, std::size_t offset, void* bytes,
                            std::size_t length) {
  Rank& it = ranks_[rank];
  absl::Status flushed;
  service_.Run([&] { flushed = it.device->FlushRemoteWrites(); });
  RETURN_IF_ERROR(flushed);
  if (it.host_memory.has_value()) {
    std::memcpy(bytes, it.host_memory->data() + offset, length);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(it.stream->CopyToHost(static_cast<std::byte*>(bytes),
                                        it.device_memory->address() + offset, length));
  return it.stream->Synchronize();
}

absl::Status SimRanks::FillWindow(std::uint32_t rank, std::uint64_t seed) {
  Rank& it = ranks_[rank];
  RETURN_IF_ERROR(it.stream->Fill(it.device_memory->address(), options_.window_bytes, {seed}));
  return it.stream->Synchronize();
}

absl::StatusOr<Mismatch> SimRanks::VerifyWindow(std::uint32_t rank, std::uint64_t seed) {
  Rank& it = ranks_[rank];
  absl::Status flushed;
  service_.Run([&] { flushed = it.device->FlushRemoteWrites(); });
  RETURN_IF_ERROR(flushed);
  return it.stream->Verify(it.device_memory->address(), options_.window_bytes, {seed});
}

std::vector<std::string> SimRanks::Faults() {
  std::vector<std::string> lines;
  service_.Run([&] {
    for (std::uint32_t i = 0; i < size(); ++i) {
      for (const Queue& queue : ranks_[i].queues) {
        for (const QueueFault& fault : queue.rings->faults()) {
          lines.push_back(
              absl::StrCat("rank ", i, ": ", QueueFaultName(fault.kind), ": ", fault.text));
        }
      }
    }
  });
  return lines;
}

}  // namespace drydock::gpu::gda
