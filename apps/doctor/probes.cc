// The beginnings of structures, and the prototypes, are those of the libraries' public interfaces,
// whose symbols are versioned: ofiwg/libfabric include/rdma/fabric.h; NVIDIA's cuda.h. They are
// declared here so that one doctor serves every machine, whatever was there when it was built.

#include "drydock/apps/doctor/probes.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/apps/doctor/fabric_abi.h"
#include "drydock/apps/doctor/probe_answer.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::doctor {
namespace {

constexpr coro::Duration kPatience = std::chrono::seconds(20);

// ---- libfabric ----

std::string AskLibfabricHere(const std::string& file) {
  // The list of the provider efa, without a look at GPUs: it would take a CUDA context.
  setenv("FI_PROVIDER", "efa", 1);
  setenv("FI_HMEM", "system", 1);
  unsetenv("FI_LOG_LEVEL");
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return ErrorAnswer(dlerror());
  std::uint32_t (*version)() = nullptr;
  int (*get_info)(std::uint32_t, const char*, const char*, std::uint64_t, const FabricInfoHead*,
                  FabricInfoHead**) = nullptr;
  if (!Find(library, "fi_version", version) || !Find(library, "fi_getinfo", get_info)) {
    return ErrorAnswer("it has no fi_version or no fi_getinfo");
  }
  const std::uint32_t number = version();
  FabricInfoHead* list = nullptr;
  const int error = get_info(number, nullptr, nullptr, 0, nullptr, &list);
  std::string answer =
      absl::StrCat("version\t", number >> 16, ".", number & 0xffff, "\nerror-number\t", error);
  for (const FabricInfoHead* info = error == 0 ? list : nullptr; info != nullptr;
       info = info->next) {
    const FabricAttributesHead* const fabric = info->fabric_attr;
    if (fabric == nullptr || Text(fabric->prov_name) != "efa") continue;
    const std::string domain = info->domain_attr == nullptr ? "" : Text(info->domain_attr->name);
    absl::StrAppend(&answer, "\noffer\t", Text(fabric->name), "\t", domain);
  }
  return answer;
}

// ---- CUDA ----

struct Cuda {
  static constexpr int kGpuDirectRdmaSupported = 116;
  static constexpr int kDmaBufSupported = 124;
  static constexpr int kDmaBufHandle = 1;  // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
  static constexpr std::size_t kBytes = 2 << 20;

  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*retain_context)(void**, int) = nullptr;
  int (*release_context)(int) = nullptr;
  int (*set_context)(void*) = nullptr;
  int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  int (*free_memory)(std::uint64_t) = nullptr;
  int (*export_range)(void*, std::uint64_t, std::size_t, int, unsigned long long) = nullptr;

  bool Resolve(void* library) {
    return Find(library, "cuInit", init) && Find(library, "cuDriverGetVersion", driver_version) &&
           Find(library, "cuDeviceGetCount", device_count) &&
           Find(library, "cuDeviceGetName", device_name) &&
           Find(library, "cuDeviceGetAttribute", attribute) &&
           Find(library, "cuDevicePrimaryCtxRetain", retain_context) &&
           Find(library, "cuDevicePrimaryCtxRelease_v2", release_context) &&
           Find(library, "cuCtxSetCurrent", set_context) &&
           Find(library, "cuMemAlloc_v2", allocate) && Find(library, "cuMemFree_v2", free_memory) &&
           Find(library, "cuMemGetHandleForAddressRange", export_range);
  }

  int Export(std::uint64_t address) const {
    int descriptor = -1;
    const int error = export_range(&descriptor, address, kBytes, kDmaBufHandle, 0);
    if (error == 0) close(descriptor);
    return error;
  }

  std::string DescribeGpu(int number) const {
    std::array<char, 128> name{};
    int dmabuf = 0, gpudirect = 0;
    device_name(name.data(), static_cast<int>(name.size()) - 1, number);
    attribute(&dmabuf, kDmaBufSupported, number);
    attribute(&gpudirect, kGpuDirectRdmaSupported, number);
    return absl::StrCat("\ngpu\t", Text(name.data()), "\t", dmabuf, "\t", gpudirect);
  }

  // The memory is known by its address alone, and yet a thread needs a context to export it.
  std::string TryExports() const {
    void* context = nullptr;
    std::uint64_t address = 0;
    int error = retain_context(&context, 0);
    if (error == 0) error = set_context(context);
    if (error == 0) error = allocate(&address, kBytes);
    if (error != 0) return absl::StrCat("\nexport\t", error, "\t", error);
    const int with = Export(address);
    int without = 0;
    std::thread([&] { without = Export(address); }).join();
    free_memory(address);
    release_context(0);
    return absl::StrCat("\nexport\t", with, "\t", without);
  }
};

std::string AskCudaHere() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return ErrorAnswer(dlerror());
  Cuda cuda;
  if (!cuda.Resolve(library)) return ErrorAnswer("the driver is older than CUDA 11.7");
  if (const int error = cuda.init(0); error != 0) {
    return ErrorAnswer(absl::StrCat("cuInit fails with error ", error));
  }
  int version = 0, count = 0;
  cuda.driver_version(&version);
  cuda.device_count(&count);
  if (count == 0) return ErrorAnswer("the driver knows no GPU");
  std::string answer = absl::StrCat("version\t", version / 1000, ".", version % 1000 / 10);
  for (int i = 0; i < count; ++i) answer += cuda.DescribeGpu(i);
  return answer + cuda.TryExports();
}

}  // namespace

absl::StatusOr<LibfabricAnswer> LiveProbes::AskLibfabric(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text,
                   RunInChild([&] { return AskLibfabricHere(file); }, kPatience));
  LibfabricAnswer answer;
  RETURN_IF_ERROR(ReadAnswer(text, [&](const std::vector<std::string>& fields) {
    if (fields[0] == "version") answer.version = ParseVersion(fields[1]).value_or(Version());
    if (fields[0] == "error-number") answer.error = NumberIn(fields[1]);
    if (fields[0] == "offer") answer.offers.push_back({fields[1], fields[2]});
  }));
  return answer;
}

absl::StatusOr<CudaAnswer> LiveProbes::AskCuda() {
  ASSIGN_OR_RETURN(const std::string text, RunInChild(AskCudaHere, kPatience));
  CudaAnswer answer;
  RETURN_IF_ERROR(ReadAnswer(text, [&](const std::vector<std::string>& fields) {
    if (fields[0] == "version") answer.driver = ParseVersion(fields[1]).value_or(Version());
    if (fields[0] == "gpu") answer.gpus.push_back({fields[1], fields[2] == "1", fields[3] == "1"});
    if (fields[0] == "export") {
      answer.export_with_context = NumberIn(fields[1]);
      answer.export_without_context = NumberIn(fields[2]);
    }
  }));
  return answer;
}

}  // namespace drydock::apps::doctor
