#include "drydock/gpu/gda/sim_pair.h"

#include <cstring>
#include <utility>

#include "drydock/coro/status_macros.h"
#include "drydock/fabric/memory.h"
#include "drydock/gpu/pattern.h"
#include "drydock/sim/driver/queue_access.h"
#include "drydock/sim/driver/sim_fabric.h"

namespace drydock::gpu::gda {
namespace {

constexpr std::uint32_t kProxyEntries = 1024;

// A pointer into `pages`, for the device that sees them at `mapped`.
template <typename T>
T* Moved(T* pointer, const HostPages& pages, void* mapped) {
  const auto offset = reinterpret_cast<std::byte*>(pointer) - pages.data();
  return reinterpret_cast<T*>(static_cast<std::byte*>(mapped) + offset);
}

}  // namespace

SimPair::SimPair(const sim::Profile& profile, std::uint64_t seed, Device& device,
                 Device& peer_device)
    : world_(seed, profile, sim::kAsFastAsItGoes), engine_(world_) {
  sides_[0].device = &device;
  sides_[1].device = &peer_device;
  world_.AttachDevice(device.peer_memory());
  if (&device != &peer_device) world_.AttachDevice(peer_device.peer_memory());
}

SimPair::~SimPair() {
  service_.Stop();
  for (Side& side : sides_) side.launcher.reset();  // it has the rings' memory mapped
}

// ---- The steps ----

absl::Status SimPair::Prepare(std::size_t bytes, BufferPlace place, RingMode mode) {
  RETURN_IF_ERROR(OpenFabrics());
  RETURN_IF_ERROR(OpenDomains());
  RETURN_IF_ERROR(OpenEndpoints());
  RETURN_IF_ERROR(Connect());
  RETURN_IF_ERROR(OpenBuffers(bytes, place));
  return Start(mode);
}

absl::Status SimPair::OpenFabrics() {
  const auto open = [this](const char* machine) {
    auto fabric = sim::OpenSimFabric(world_, world_.AddNode(machine));
    return wrapper_ ? wrapper_(std::move(fabric), machine) : std::move(fabric);
  };
  sides_[0].fabric = open("sender");
  sides_[1].fabric = open("receiver");
  if (sides_[0].fabric->nics().front().limits.max_rma_bytes != 0) return absl::OkStatus();
  return absl::UnimplementedError("this machine's NICs have no RDMA writes");
}

absl::Status SimPair::OpenDomains() {
  for (Side& side : sides_) {
    ASSIGN_OR_RETURN(side.domain, side.fabric->OpenDomain(0));
  }
  return absl::OkStatus();
}

absl::Status SimPair::OpenEndpoints() {
  for (Side& side : sides_) {
    ASSIGN_OR_RETURN(side.send_queue, side.domain->OpenCompletionQueue({}));
    ASSIGN_OR_RETURN(side.receive_queue, side.domain->OpenCompletionQueue({}));
    ASSIGN_OR_RETURN(side.peers, side.domain->OpenAddressVector());
    fabric::EndpointOptions options;
    options.send_queue = side.send_queue.get();
    options.receive_queue = side.receive_queue.get();
    options.address_vector = side.peers.get();
    ASSIGN_OR_RETURN(side.endpoint, side.domain->OpenEndpoint(options));
  }
  return absl::OkStatus();
}

absl::Status SimPair::Connect() {
  ASSIGN_OR_RETURN(sides_[0].peer, sides_[0].peers->Insert(sides_[1].endpoint->address()));
  ASSIGN_OR_RETURN(sides_[1].peer, sides_[1].peers->Insert(sides_[0].endpoint->address()));
  return absl::OkStatus();
}

absl::Status SimPair::OpenBuffers(std::size_t bytes, BufferPlace place) {
  for (Side& side : sides_) {
    RETURN_IF_ERROR(OpenBuffer(side, bytes, place));
    ASSIGN_OR_RETURN(side.stream, side.device->OpenStream());
    ASSIGN_OR_RETURN(side.launcher, OpenLauncher(*side.device));
  }
  if (place == BufferPlace::kHost) return absl::OkStatus();
  // The NIC will copy like this while a kernel waits for it: whatever the driver loads for the
  // first copy, it must not have to wait for that kernel.
  RETURN_IF_ERROR(sides_[0].stream->Copy(sides_[1].device_memory->address(),
                                         sides_[0].device_memory->address(), bytes));
  return sides_[0].stream->Synchronize();
}

absl::Status SimPair::OpenBuffer(Side& side, std::size_t bytes, BufferPlace place) {
  fabric::MemoryRequest request;
  if (place == BufferPlace::kDevice) {
    ASSIGN_OR_RETURN(side.device_memory, side.device->Allocate(bytes));
    request = RequestFor(*side.device, *side.device_memory, nullptr);
  } else {
    ASSIGN_OR_RETURN(HostPages pages, HostPages::Allocate(bytes));
    request.data = pages.data();
    request.length_bytes = bytes;
    side.host_memory.emplace(std::move(pages));
  }
  ASSIGN_OR_RETURN(side.region, side.domain->RegisterMemory(request));
  return absl::OkStatus();
}

absl::Status SimPair::Start(RingMode mode) {
  channel_.mode = mode;
  RETURN_IF_ERROR(mode == RingMode::kProxy ? StartProxy() : StartQueue(mode));
  service_.Add([this] { return engine_.Step(); });
  service_.Start();
  return absl::OkStatus();
}

absl::Status SimPair::StartQueue(RingMode mode) {
  Side& side = sides_[0];
  ASSIGN_OR_RETURN(queue_, engine_.Open(*side.endpoint));
  ASSIGN_OR_RETURN(channel_.peer, queue_->PeerOf(side.peer, sides_[1].endpoint->address()));
  QueueView view = queue_->View();
  if (mode == RingMode::kBellRecord) {
    ASSIGN_OR_RETURN(BellRinger ringer, BellRinger::Open(view));
    ringer_.emplace(std::move(ringer));
    view = ringer_->View();
    service_.Add([this] { return ringer_->Step(); });
  }
  ASSIGN_OR_RETURN(channel_.queue, MapQueue(*side.launcher, view, MappedMemory::kHost));
  ASSIGN_OR_RETURN(const SharedMemory state, side.launcher->AllocateShared(sizeof(QueueState)));
  *state.on_host<QueueState>() = FreshState(view);
  channel_.queue_state = state.on_device<QueueState>();
  return absl::OkStatus();
}

absl::Status SimPair::StartProxy() {
  Side& side = sides_[0];
  ASSIGN_OR_RETURN(ProxyServer proxy,
                   ProxyServer::Open(*side.endpoint, *side.send_queue, side.peer, kProxyEntries));
  proxy_.emplace(std::move(proxy));
  proxy_->Use(*side.region);
  service_.Add([this] { return proxy_->Step(); });
  const HostPages& pages = proxy_->pages();
  ASSIGN_OR_RETURN(void* const mapped,
                   side.launcher->Map(pages.data(), pages.size(), MappedMemory::kHost));
  channel_.proxy = proxy_->View();
  channel_.proxy.commands = Moved(channel_.proxy.commands, pages, mapped);
  channel_.proxy.done = Moved(channel_.proxy.done, pages, mapped);
  channel_.proxy.ended = Moved(channel_.proxy.ended, pages, mapped);
  channel_.proxy.failures = Moved(channel_.proxy.failures, pages, mapped);
  ASSIGN_OR_RETURN(const SharedMemory state, side.launcher->AllocateShared(sizeof(ProxyState)));
  channel_.proxy_state = state.on_device<ProxyState>();
  return absl::OkStatus();
}

// ---- What there is ----

std::uint16_t SimPair::number(int side) const {
  return at(side).endpoint->power<sim::QueueAccess>()->queue_pair().number;
}

absl::StatusOr<SharedView> SimPair::Share() {
  if (queue_ == nullptr) {
    return absl::UnimplementedError("a proxy's commands are one thread's: no blocks share them");
  }
  if (!CanBeShared(channel_.queue)) {
    return absl::FailedPreconditionError("the completion queue is shorter than the send queue");
  }
  Launcher& launcher = *sides_[0].launcher;
  SharedView shared;
  shared.queue = channel_.queue;
  shared.peer = channel_.peer;
  ASSIGN_OR_RETURN(void* const state, launcher.AllocateScratch(sizeof(SharedState)));
  ASSIGN_OR_RETURN(void* const laps, launcher.AllocateScratch(channel_.queue.send.entry_count *
                                                              sizeof(*shared.laps)));
  shared.state = static_cast<SharedState*>(state);
  shared.laps = static_cast<std::uint32_t*>(laps);
  return shared;
}

Transfer SimPair::Write(std::size_t offset, std::uint32_t length) const {
  Transfer transfer;
  transfer.length = length;
  transfer.lkey = static_cast<std::uint32_t>(sides_[0].region->local_key());
  transfer.local = reinterpret_cast<std::uint64_t>(sides_[0].region->data() + offset);
  const fabric::RemoteBuffer remote = sides_[1].region->remote();
  transfer.rkey = static_cast<std::uint32_t>(remote.key);
  transfer.remote = remote.address + offset;
  return transfer;
}

absl::StatusOr<unsigned char*> SimPair::Reach(int side) {
  Side& it = at(side);
  if (!it.host_memory.has_value()) {
    return it.launcher->Reach(it.device_memory->address(), it.device_memory->length_bytes());
  }
  ASSIGN_OR_RETURN(
      void* const mapped,
      it.launcher->Map(it.host_memory->data(), it.host_memory->size(), MappedMemory::kHost));
  return static_cast<unsigned char*>(mapped);
}

absl::StatusOr<SharedMemory> SimPair::Reports(std::size_t count) {
  return sides_[0].launcher->AllocateShared(count * sizeof(KernelReport));
}

// ---- Data ----

absl::Status SimPair::Fill(int side, std::uint64_t seed) {
  Side& it = at(side);
  const std::size_t bytes = it.region->length_bytes();
  if (!it.host_memory.has_value()) {
    RETURN_IF_ERROR(it.stream->Fill(it.device_memory->address(), bytes, {seed}));
    return it.stream->Synchronize();
  }
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    const std::uint64_t word = PatternWord(seed, i);
    std::memcpy(it.host_memory->data() + 8 * i, &word, 8);
  }
  return absl::OkStatus();
}

absl::StatusOr<Mismatch> SimPair::Verify(int side, std::uint64_t seed) {
  Side& it = at(side);
  const std::size_t bytes = it.region->length_bytes();
  if (!it.host_memory.has_value()) {
    return it.stream->Verify(it.device_memory->address(), bytes, {seed});
  }
  Mismatch mismatch;
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    const std::uint64_t word = PatternWord(seed, i);
    if (std::memcmp(it.host_memory->data() + 8 * i, &word, 8) == 0) continue;
    if (mismatch.wrong_words++ == 0) mismatch.first_wrong_byte = 8 * i;
  }
  return mismatch;
}

absl::Status SimPair::Flush() {
  absl::Status status;
  service_.Run([&] { status = sides_[1].device->FlushRemoteWrites(); });
  return status;
}

std::vector<std::string> SimPair::Faults() {
  std::vector<std::string> lines;
  if (queue_ == nullptr) return lines;
  service_.Run([&] {
    for (const QueueFault& fault : queue_->faults()) {
      lines.push_back(std::string(QueueFaultName(fault.kind)) + ": " + fault.text);
    }
  });
  return lines;
}

}  // namespace drydock::gpu::gda
