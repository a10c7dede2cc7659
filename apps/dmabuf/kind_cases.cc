// The cases of --kinds: what is done, and what CUDA answers.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/dmabuf/kinds.h"
#include "coro/event_loop.h"
#include "coro/status_macros.h"
#include "coro/task.h"
#include "fabric/async/node.h"
#include "fabric/async/registered_buffer.h"
#include "fabric/error.h"
#include "fabric/fabric.h"
#include "sim/driver/sim_fabric.h"
#include "sim/profile/profile.h"
#include "sim/world/world.h"

namespace apps::dmabuf {
namespace {

using fabric::MemoryRequest;
using fabric::async::BufferSlice;
using fabric::async::Node;
using gpu::DriverAnswer;
using gpu::DriverCode;
using gpu::MemoryDriver;
using gpu::NameOf;
using Said = absl::StatusOr<std::string>;
using Current = MemoryDriver::Context;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMiB = 1 << 20;

// The number of a call that a case needs, or what the call said instead.
absl::StatusOr<std::uint64_t> Need(const char* call, DriverAnswer answer) {
  if (answer.ok()) return answer.value;
  return absl::InternalError(absl::StrCat(call, ": ", NameOf(answer.code)));
}
absl::Status Need(const char* call, DriverCode code) {
  return Need(call, DriverAnswer{code, 0}).status();
}

std::string Size(std::uint64_t bytes) {
  return bytes % kMiB == 0 ? absl::StrCat(bytes / kMiB, " MiB") : absl::StrCat(bytes, " B");
}

// A dmabuf of so many bytes, which is closed; or the error.
std::string SayExport(DriverAnswer answer) {
  if (!answer.ok()) return NameOf(answer.code);
  const int fd = static_cast<int>(answer.value);
  const off_t end = lseek(fd, 0, SEEK_END);
  close(fd);
  return absl::StrCat("dmabuf of ", Size(static_cast<std::uint64_t>(end)));
}
std::string SayRange(DriverAnswer answer) {
  return answer.ok() ? Size(answer.value) : NameOf(answer.code);
}
std::string SayQuery(MemoryDriver& driver, std::uint64_t address) {
  gpu::PointerFacts facts;
  const DriverCode code = driver.Query(address, facts);
  if (code != DriverCode::kSuccess) return NameOf(code);
  if (!facts.known) return "unknown";
  return absl::StrCat(facts.of_device ? "device" : "host", facts.managed ? ", managed" : "",
                      facts.rdma ? ", RDMA" : "");
}

// What `ask` says on a thread with that context.
template <typename Ask>
std::string OnThread(MemoryDriver& driver, Current context, Ask ask) {
  std::string said;
  std::thread([&] {
    const DriverCode set =
        context == Current::kNone ? DriverCode::kSuccess : driver.SetCurrent(context);
    said = set == DriverCode::kSuccess ? ask() : absl::StrCat("context: ", NameOf(set));
  }).join();
  return said;
}

// ---- Contexts of threads ----

// Memory of the primary context, asked about on a thread with another context, or none.
template <Current context, typename Ask>
Said AskElsewhere(KindGpu& gpu, Ask ask) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  return OnThread(gpu.driver, context, [&] { return ask(gpu.driver, address); });
}
template <Current context>
Said QueryElsewhere(KindGpu& gpu) {
  return AskElsewhere<context>(gpu, SayQuery);
}
template <Current context>
Said RangeElsewhere(KindGpu& gpu) {
  return AskElsewhere<context>(gpu, [](MemoryDriver& driver, std::uint64_t address) {
    return SayRange(driver.RangeBytes(address));
  });
}
template <Current context>
Said ExportElsewhere(KindGpu& gpu) {
  return AskElsewhere<context>(gpu, [](MemoryDriver& driver, std::uint64_t address) {
    return SayExport(driver.ExportRange(address, 4 * kMiB));
  });
}
template <Current context>
Said CopyElsewhere(KindGpu& gpu) {
  return AskElsewhere<context>(gpu, [](MemoryDriver& driver, std::uint64_t address) {
    return NameOf(driver.Store(address, 7));
  });
}

Said AllocateWithoutContext(KindGpu& gpu) {
  return OnThread(gpu.driver, Current::kNone,
                  [&] { return NameOf(gpu.driver.Allocate(kMiB).code); });
}

Said ExportAfterItsContext(KindGpu& gpu) {
  RETURN_IF_ERROR(Need("cuCtxSetCurrent", gpu.driver.SetCurrent(Current::kOther)));
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  RETURN_IF_ERROR(Need("cuCtxSetCurrent", gpu.driver.SetCurrent(Current::kPrimary)));
  RETURN_IF_ERROR(Need("cuCtxDestroy", gpu.driver.DestroyOther()));
  return SayExport(gpu.driver.ExportRange(address, 4 * kMiB));
}

// ---- Virtual memory in several segments ----

// A reservation of two granules, and memory for each.
struct Segments {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // of one
};

absl::Status MapOne(MemoryDriver& driver, const Segments& segments, int which, bool rdma,
                    bool accessible = true) {
  ASSIGN_OR_RETURN(const std::uint64_t handle,
                   Need("cuMemCreate", driver.Create(segments.bytes, rdma)));
  const std::uint64_t at = segments.address + static_cast<std::uint64_t>(which) * segments.bytes;
  RETURN_IF_ERROR(Need("cuMemMap", driver.Map(at, segments.bytes, handle)));
  RETURN_IF_ERROR(Need("cuMemRelease", driver.Release(handle)));
  if (!accessible) return absl::OkStatus();
  return Need("cuMemSetAccess", driver.SetAccess(at, segments.bytes));
}

absl::StatusOr<Segments> ReserveTwo(MemoryDriver& driver) {
  Segments segments{.bytes = driver.granule_bytes()};
  ASSIGN_OR_RETURN(segments.address,
                   Need("cuMemAddressReserve", driver.Reserve(2 * segments.bytes)));
  return segments;
}

absl::StatusOr<Segments> MapTwo(MemoryDriver& driver) {
  ASSIGN_OR_RETURN(const Segments segments, ReserveTwo(driver));
  RETURN_IF_ERROR(MapOne(driver, segments, 0, /*rdma=*/true));
  RETURN_IF_ERROR(MapOne(driver, segments, 1, /*rdma=*/true));
  return segments;
}

Said ExportTwoSegments(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const Segments segments, MapTwo(gpu.driver));
  return SayExport(gpu.driver.ExportRange(segments.address, 2 * segments.bytes));
}

Said RangeOfTwoSegments(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const Segments segments, MapTwo(gpu.driver));
  return SayRange(gpu.driver.RangeBytes(segments.address));
}

Said ExportAcrossTheJoint(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const Segments segments, MapTwo(gpu.driver));
  return SayExport(gpu.driver.ExportRange(segments.address + segments.bytes / 2, segments.bytes));
}

Said ExportAHole(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const Segments segments, ReserveTwo(gpu.driver));
  RETURN_IF_ERROR(MapOne(gpu.driver, segments, 0, /*rdma=*/true));
  return SayExport(gpu.driver.ExportRange(segments.address, 2 * segments.bytes));
}

Said ExportUnequalSegments(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const Segments segments, ReserveTwo(gpu.driver));
  RETURN_IF_ERROR(MapOne(gpu.driver, segments, 0, /*rdma=*/true));
  RETURN_IF_ERROR(MapOne(gpu.driver, segments, 1, /*rdma=*/false));
  return SayExport(gpu.driver.ExportRange(segments.address, 2 * segments.bytes));
}

Said ExportNotForRdma(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const Segments segments, ReserveTwo(gpu.driver));
  RETURN_IF_ERROR(MapOne(gpu.driver, segments, 0, /*rdma=*/false));
  return absl::StrCat(SayQuery(gpu.driver, segments.address), "; ",
                      SayExport(gpu.driver.ExportRange(segments.address, segments.bytes)));
}

Said ExportWithoutAccess(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const Segments segments, ReserveTwo(gpu.driver));
  RETURN_IF_ERROR(MapOne(gpu.driver, segments, 0, /*rdma=*/true, /*accessible=*/false));
  return SayExport(gpu.driver.ExportRange(segments.address, segments.bytes));
}

Said UnmapAfterExport(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const Segments segments, MapTwo(gpu.driver));
  const DriverAnswer dmabuf = gpu.driver.ExportRange(segments.address, 2 * segments.bytes);
  RETURN_IF_ERROR(Need("cuMemGetHandleForAddressRange", dmabuf).status());
  const DriverCode unmapped = gpu.driver.Unmap(segments.address, 2 * segments.bytes);
  const std::string kept = SayExport(dmabuf);
  return absl::StrCat(NameOf(unmapped), "; ", kept, "; then ",
                      SayExport(gpu.driver.ExportRange(segments.address, segments.bytes)));
}

// ---- Parts of a range ----

template <std::int64_t offset, std::uint64_t length>
Said ExportPart(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  return SayExport(gpu.driver.ExportRange(address + static_cast<std::uint64_t>(offset), length));
}

// ---- Freed ----

Said ExportAfterFree(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  RETURN_IF_ERROR(Need("cuMemFree", gpu.driver.Free(address)));
  return absl::StrCat(SayQuery(gpu.driver, address), "; ",
                      SayExport(gpu.driver.ExportRange(address, 4 * kMiB)));
}

Said FreeAfterExport(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  const DriverAnswer dmabuf = gpu.driver.ExportRange(address, 4 * kMiB);
  RETURN_IF_ERROR(Need("cuMemGetHandleForAddressRange", dmabuf).status());
  const DriverCode freed = gpu.driver.Free(address);
  return absl::StrCat(NameOf(freed), "; ", SayExport(dmabuf));
}

Said FreeTwice(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  RETURN_IF_ERROR(Need("cuMemFree", gpu.driver.Free(address)));
  return NameOf(gpu.driver.Free(address));
}

// ---- Managed and host memory ----

Said ManagedMemory(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address,
                   Need("cuMemAllocManaged", gpu.driver.AllocateManaged(4 * kMiB)));
  return absl::StrCat(SayQuery(gpu.driver, address), "; ",
                      SayExport(gpu.driver.ExportRange(address, 4 * kMiB)));
}

Said LockedHostMemory(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address,
                   Need("cuMemHostAlloc", gpu.driver.AllocateHost(4 * kMiB)));
  return absl::StrCat(SayQuery(gpu.driver, address), "; ",
                      SayExport(gpu.driver.ExportRange(address, 4 * kMiB)));
}

Said ForeignHostMemory(KindGpu& gpu) {
  void* const memory = std::aligned_alloc(kPage, kMiB);
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  const std::string said = absl::StrCat(SayQuery(gpu.driver, address), "; ",
                                        SayExport(gpu.driver.ExportRange(address, kMiB)));
  std::free(memory);
  return said;
}

// ---- A fork ----

// What `ask` says in a child of this process.
template <typename Ask>
Said InChild(Ask ask) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError("pipe");
  const pid_t child = fork();
  if (child < 0) return absl::InternalError("fork");
  if (child == 0) {
    const std::string said = ask();
    const ssize_t written = write(ends[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said(256, '\0');
  const ssize_t length = read(ends[0], said.data(), said.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  said.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  if (WIFSIGNALED(status)) return absl::StrCat("child ended by signal ", WTERMSIG(status));
  return said;
}

Said ChildAllocates(KindGpu& gpu) {
  return InChild([&] { return NameOf(gpu.driver.Allocate(kMiB).code); });
}

Said ChildExports(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  return InChild([&] { return SayExport(gpu.driver.ExportRange(address, 4 * kMiB)); });
}

Said ChildQueries(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  return InChild([&] { return SayQuery(gpu.driver, address); });
}

Said ChildHasTheDmabuf(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  const DriverAnswer dmabuf = gpu.driver.ExportRange(address, 4 * kMiB);
  RETURN_IF_ERROR(Need("cuMemGetHandleForAddressRange", dmabuf).status());
  return InChild([&] { return SayExport(dmabuf); });
}

Said ParentGoesOn(KindGpu& gpu) {
  ASSIGN_OR_RETURN(const std::uint64_t address, Need("cuMemAlloc", gpu.driver.Allocate(4 * kMiB)));
  RETURN_IF_ERROR(InChild([&] { return NameOf(gpu.driver.Allocate(kMiB).code); }).status());
  return SayExport(gpu.driver.ExportRange(address, 4 * kMiB));
}

// ---- Registered with a simulated NIC ----

constexpr std::size_t kLength = 4 * kMiB;

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

const std::vector<KindCase>& KindCases() {
  static const auto* const kCases = new std::vector<KindCase>{
      {"no context: attributes", "device, RDMA", QueryElsewhere<Current::kNone>},
      {"no context: address range", "CUDA_ERROR_INVALID_CONTEXT", RangeElsewhere<Current::kNone>},
      {"no context: dmabuf", "CUDA_ERROR_INVALID_CONTEXT", ExportElsewhere<Current::kNone>},
      {"no context: copy", "CUDA_ERROR_INVALID_CONTEXT", CopyElsewhere<Current::kNone>},
      {"no context: allocate", "CUDA_ERROR_INVALID_CONTEXT", AllocateWithoutContext},
      {"another context: attributes", "device, RDMA", QueryElsewhere<Current::kOther>},
      {"another context: address range", "4 MiB", RangeElsewhere<Current::kOther>},
      {"another context: dmabuf", "dmabuf of 4 MiB", ExportElsewhere<Current::kOther>},
      {"another context: copy", "CUDA_SUCCESS", CopyElsewhere<Current::kOther>},
      {"its context destroyed: dmabuf", "CUDA_ERROR_INVALID_VALUE", ExportAfterItsContext},
      {"two segments: dmabuf of both", "dmabuf of 4 MiB", ExportTwoSegments},
      {"two segments: dmabuf across the joint", "dmabuf of 2 MiB", ExportAcrossTheJoint},
      {"two segments: address range", "2 MiB", RangeOfTwoSegments},
      {"one of two segments mapped: dmabuf", "CUDA_ERROR_INVALID_VALUE", ExportAHole},
      {"two segments, one not for RDMA: dmabuf", "CUDA_ERROR_INVALID_VALUE", ExportUnequalSegments},
      {"a segment not for RDMA: dmabuf", "device; dmabuf of 2 MiB", ExportNotForRdma},
      {"a segment without access: dmabuf", "dmabuf of 2 MiB", ExportWithoutAccess},
      {"unmapped after its dmabuf", "CUDA_SUCCESS; dmabuf of 4 MiB; then CUDA_ERROR_INVALID_VALUE",
       UnmapAfterExport},
      {"a part of whole pages: dmabuf", "dmabuf of 1 MiB", ExportPart<2 * kMiB, kMiB>},
      {"a part from within a page: dmabuf", "CUDA_ERROR_INVALID_VALUE", ExportPart<256, kMiB>},
      {"a part of half a page: dmabuf", "CUDA_ERROR_INVALID_VALUE", ExportPart<0, kPage / 2>},
      {"past the end: dmabuf", "CUDA_ERROR_INVALID_VALUE", ExportPart<2 * kMiB, 4 * kMiB>},
      {"freed: dmabuf", "unknown; CUDA_ERROR_INVALID_VALUE", ExportAfterFree},
      {"freed after its dmabuf", "CUDA_SUCCESS; dmabuf of 4 MiB", FreeAfterExport},
      {"freed twice", "CUDA_ERROR_INVALID_VALUE", FreeTwice},
      {"managed: dmabuf", "device, managed; CUDA_ERROR_INVALID_VALUE", ManagedMemory},
      {"locked host memory: dmabuf", "host; CUDA_ERROR_INVALID_VALUE", LockedHostMemory},
      {"memory of malloc: dmabuf", "unknown; CUDA_ERROR_INVALID_VALUE", ForeignHostMemory},
      {"forked child: attributes", "CUDA_ERROR_NOT_INITIALIZED", ChildQueries},
      {"forked child: dmabuf", "CUDA_ERROR_NOT_INITIALIZED", ChildExports},
      {"forked child: allocate", "CUDA_ERROR_NOT_INITIALIZED", ChildAllocates},
      {"forked child: a dmabuf of before", "dmabuf of 4 MiB", ChildHasTheDmabuf},
      {"parent of a child: dmabuf", "dmabuf of 4 MiB", ParentGoesOn},
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

}  // namespace apps::dmabuf
