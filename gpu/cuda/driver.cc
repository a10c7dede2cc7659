#include "drydock/gpu/cuda/driver.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::gpu::cuda {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

absl::StatusCode CodeOf(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return absl::StatusCode::kResourceExhausted;
    case CUDA_ERROR_INVALID_VALUE:
      return absl::StatusCode::kInvalidArgument;
    case CUDA_ERROR_NOT_SUPPORTED:
      return absl::StatusCode::kUnimplemented;
    case CUDA_ERROR_NO_DEVICE:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::Status Resolve(void* library, Driver& driver) {
#define GPU_CUDA_STRING(name) #name
#define GPU_CUDA_RESOLVE(name)                                                                    \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, GPU_CUDA_STRING(name)));   \
  if (driver.name == nullptr) {                                                                   \
    return absl::UnavailableError(absl::StrCat("the CUDA driver here is too old: its ", kLibrary, \
                                               " has no ", GPU_CUDA_STRING(name)));               \
  }
  GPU_CUDA_FUNCTIONS(GPU_CUDA_RESOLVE)
#undef GPU_CUDA_RESOLVE
#undef GPU_CUDA_STRING
  return absl::OkStatus();
}

absl::StatusOr<const Driver*> Open() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::UnavailableError(absl::StrCat("there is no CUDA driver here: ", dlerror()));
  }
  static Driver driver;
  RETURN_IF_ERROR(Resolve(library, driver));
  // A kernel that is loaded when it is first launched may wait for those that run, and they for it
  // (CUDA C++ programming guide, lazy loading). A user who has set it otherwise means it.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
  RETURN_IF_ERROR(driver.ToStatus(driver.cuInit(0), "cuInit"));
  return &driver;
}

}  // namespace

absl::Status Driver::ToStatus(CUresult result, absl::string_view what) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  const char* words = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &words);
  return absl::Status(
      CodeOf(result),
      absl::StrCat(what, ": ", name == nullptr ? "an error that the driver cannot name" : name,
                   words == nullptr ? "" : ": ", words == nullptr ? "" : words));
}

absl::StatusOr<const Driver*> LoadDriver() {
  static const absl::StatusOr<const Driver*>* const kDriver =
      new absl::StatusOr<const Driver*>(Open());
  return *kDriver;
}

}  // namespace drydock::gpu::cuda
