// The cases of --kinds in which the driver alone is asked: what is done, and what CUDA answers.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/dmabuf/kind_calls.h"
#include "drydock/apps/dmabuf/kinds.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/memory_driver.h"

namespace drydock::apps::dmabuf {
namespace {

using gpu::DriverAnswer;
using gpu::DriverCode;
using gpu::MemoryDriver;
using gpu::NameOf;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMiB = 1 << 20;

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

}  // namespace

const std::vector<KindCase>& KindCases() {
  static const auto* const kCases = [] {
    auto* const cases = new std::vector<KindCase>{
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
        {"two segments, one not for RDMA: dmabuf", "dmabuf of 4 MiB", ExportUnequalSegments},
        {"a segment not for RDMA: dmabuf", "device; dmabuf of 2 MiB", ExportNotForRdma},
        {"a segment without access: dmabuf", "dmabuf of 2 MiB", ExportWithoutAccess},
        {"unmapped after its dmabuf",
         "CUDA_SUCCESS; dmabuf of 4 MiB; then CUDA_ERROR_INVALID_VALUE", UnmapAfterExport},
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
    };
    cases->insert(cases->end(), RegistrationCases().begin(), RegistrationCases().end());
    return cases;
  }();
  return *kCases;
}

}  // namespace drydock::apps::dmabuf
