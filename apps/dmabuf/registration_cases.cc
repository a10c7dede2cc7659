// The cases of --kinds in which a simulated NIC registers memory, and writes to it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/dmabuf/kind_calls.h"
#include "drydock/apps/dmabuf/kinds.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps::dmabuf {
namespace {

using fabric::MemoryRequest;
using fabric::async::BufferSlice;
using fabric::async::Node;

constexpr std::size_t kLength = 4 << 20;

// Two machines whose NICs reach the device, and data to write from one to the other.
class Transfer {
 public:
  static absl::StatusOr<std::unique_ptr<Transfer>> Open(gpu::Device& device) {
    auto transfer = std::make_unique<Transfer>(device);
    for (const char* name : {"a", "b"}) {
      ASSIGN_OR_RETURN(
          std::unique_ptr<Node> node,
          Node::Open(transfer->loop_,
                     sim::OpenSimFabric(transfer->world_, transfer->world_.AddNode(name))));
      transfer->nodes_.push_back(std::move(node));
    }
    RETURN_IF_ERROR(fabric::async::Introduce(transfer->nodes_));
    ASSIGN_OR_RETURN(transfer->source_, transfer->nodes_[0]->Allocate(kLength));
    for (std::byte& byte : transfer->source_->bytes()) byte = std::byte{0x5a};
    return transfer;
  }
  explicit Transfer(gpu::Device& device) : world_(/*seed=*/1, **sim::FindProfile("small")) {
    world_.AttachDevice(device.peer_memory());
  }

  // With the machine that is written to.
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Register(const MemoryRequest& request) {
    return nodes_[1]->domain().RegisterMemory(request);
  }
  // The bytes of the host of one machine into a region of the other: "written", or how it ended.
  std::string Write(const fabric::MemoryRegion& region) {
    const absl::StatusOr<fabric::Completion> done = loop_.Run(WriteTo(region.remote()));
    if (!done.ok()) return std::string(done.status().message());
    return done->ok() ? "written" : std::string(fabric::Name(done->error));
  }

 private:
  coro::Task<fabric::Completion> WriteTo(fabric::RemoteBuffer target) {
    co_return co_await nodes_[0]->endpoint().Write(BufferSlice(source_), target,
                                                   nodes_[0]->peer(1));
  }

  sim::World world_;
  coro::EventLoop loop_{world_};
  std::vector<std::unique_ptr<Node>> nodes_;
  fabric::async::BufferRef source_;
};

// Whether the device sees the transfer's bytes there.
absl::StatusOr<std::string> SeenBy(gpu::Device& device, const gpu::DeviceMemory& memory) {
  RETURN_IF_ERROR(device.FlushRemoteWrites());
  ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Stream> stream, device.OpenStream());
  std::vector<std::byte> host(memory.length_bytes());
  RETURN_IF_ERROR(stream->CopyToHost(host.data(), memory.address(), host.size()));
  RETURN_IF_ERROR(stream->Synchronize());
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (host[i] != std::byte{0x5a}) return absl::StrCat("wrong byte ", i);
  }
  return "right";
}

// Memory of the device, registered by its dmabuf or its address, written and looked at.
Said RegisterAndWrite(gpu::Device& device, gpu::Allocation how, bool by_dmabuf) {
  ASSIGN_OR_RETURN(const auto transfer, Transfer::Open(device));
  ASSIGN_OR_RETURN(const auto memory, device.Allocate(kLength, how));
  std::optional<gpu::Dmabuf> dmabuf;
  if (by_dmabuf) {
    ASSIGN_OR_RETURN(dmabuf, memory->ExportDmabuf());
  }
  ASSIGN_OR_RETURN(
      const auto region,
      transfer->Register(RequestFor(device, *memory, dmabuf.has_value() ? &*dmabuf : nullptr)));
  const std::string written = transfer->Write(*region);
  ASSIGN_OR_RETURN(const std::string seen, SeenBy(device, *memory));
  return absl::StrCat(written, ", ", seen);
}

std::string Or(const Said& said) {
  return said.ok() ? *said : std::string(said.status().message());
}

template <Current context>
Said RegisterElsewhere(KindGpu& gpu) {
  return OnThread(gpu.driver, context, [&] {
    return absl::StrCat(
        Or(RegisterAndWrite(gpu.device, gpu::Allocation::kPlain, /*by_dmabuf=*/true)), "; ",
        Or(RegisterAndWrite(gpu.device, gpu::Allocation::kPlain, /*by_dmabuf=*/false)));
  });
}

Said RegisterSegments(KindGpu& gpu) {
  return absl::StrCat(
      Or(RegisterAndWrite(gpu.device, gpu::Allocation::kSegments, /*by_dmabuf=*/true)), "; ",
      Or(RegisterAndWrite(gpu.device, gpu::Allocation::kSegments, /*by_dmabuf=*/false)));
}

// As a program does that believes the range of the address.
Said RegisterPastTheDmabuf(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const auto transfer, Transfer::Open(gpu.device));
  ASSIGN_OR_RETURN(const auto memory, gpu.device.Allocate(kLength));
  ASSIGN_OR_RETURN(const gpu::Dmabuf dmabuf, memory->ExportDmabuf());
  MemoryRequest request = RequestFor(gpu.device, *memory, &dmabuf);
  request.dmabuf->offset_bytes = kLength / 2;
  return std::string(absl::StatusCodeToString(transfer->Register(request).status().code()));
}

template <bool by_dmabuf>
Said FreeWhileRegistered(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const auto transfer, Transfer::Open(gpu.device));
  ASSIGN_OR_RETURN(auto memory, gpu.device.Allocate(kLength));
  std::optional<gpu::Dmabuf> dmabuf;
  if (by_dmabuf) {
    ASSIGN_OR_RETURN(dmabuf, memory->ExportDmabuf());
  }
  ASSIGN_OR_RETURN(
      const auto region,
      transfer->Register(RequestFor(gpu.device, *memory, dmabuf.has_value() ? &*dmabuf : nullptr)));
  const std::string before = transfer->Write(*region);
  memory.reset();
  return absl::StrCat(before, "; then ", transfer->Write(*region));
}

// The GPU cannot export it, so it is registered as what it is too: the host's.
Said RegisterManagedAsHost(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const auto transfer, Transfer::Open(gpu.device));
  ASSIGN_OR_RETURN(const std::uint64_t address,
                   Need("cuMemAllocManaged", gpu.driver.AllocateManaged(kLength)));
  MemoryRequest request;
  request.data = reinterpret_cast<std::byte*>(address);
  request.length_bytes = kLength;
  request.kind = gpu.device.kind();
  request.device = gpu.device.ordinal();
  const absl::Status as_device = transfer->Register(request).status();
  request.kind = fabric::MemoryKind::kSystem;
  ASSIGN_OR_RETURN(const auto region, transfer->Register(request));
  const std::string written = transfer->Write(*region);
  ASSIGN_OR_RETURN(const std::uint64_t word, Need("cuMemcpyDtoH", gpu.driver.Load(address)));
  return absl::StrCat(absl::StatusCodeToString(as_device.code()), "; as the host's: ", written,
                      word == 0x5a5a5a5a5a5a5a5a ? ", right" : ", wrong");
}

Said RegisterThenFork(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const auto transfer, Transfer::Open(gpu.device));
  ASSIGN_OR_RETURN(const auto memory, gpu.device.Allocate(kLength));
  ASSIGN_OR_RETURN(const gpu::Dmabuf dmabuf, memory->ExportDmabuf());
  ASSIGN_OR_RETURN(const auto region, transfer->Register(RequestFor(gpu.device, *memory, &dmabuf)));
  RETURN_IF_ERROR(InChild([] { return std::string("ended"); }).status());
  const std::string written = transfer->Write(*region);
  ASSIGN_OR_RETURN(const std::string seen, SeenBy(gpu.device, *memory));
  return absl::StrCat(written, ", ", seen);
}

}  // namespace

const std::vector<KindCase>& RegistrationCases() {
  static const auto* const kCases = new std::vector<KindCase>{
      {"registered without a context", "written, right; written, right",
       RegisterElsewhere<Current::kNone>},
      {"registered in another context", "written, right; written, right",
       RegisterElsewhere<Current::kOther>},
      {"registered in two segments", "written, right; written, right", RegisterSegments},
      {"registered past its dmabuf", "INVALID_ARGUMENT", RegisterPastTheDmabuf},
      {"freed while registered by dmabuf", "written; then written", FreeWhileRegistered<true>},
      {"freed while registered by address", "written; then RemoteAccess",
       FreeWhileRegistered<false>},
      {"managed, registered", "INVALID_ARGUMENT; as the host's: written, right",
       RegisterManagedAsHost},
      {"registered, then a fork", "written, right", RegisterThenFork},
  };
  return *kCases;
}

}  // namespace drydock::apps::dmabuf
