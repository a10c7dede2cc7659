#include "drydock/gpu/cuda/context.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::gpu::cuda {

absl::StatusOr<std::shared_ptr<Context>> Context::Retain(int ordinal) {
  ASSIGN_OR_RETURN(const Driver* const driver, LoadDriver());
  int count = 0;
  RETURN_IF_ERROR(driver->ToStatus(driver->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no cuda:", ordinal, ": this machine has ", count,
                     count == 1 ? " GPU" : " GPUs", ", counted from 0"));
  }
  CUdevice device = 0;
  RETURN_IF_ERROR(driver->ToStatus(driver->cuDeviceGet(&device, ordinal), "cuDeviceGet"));
  CUcontext context = nullptr;
  RETURN_IF_ERROR(driver->ToStatus(driver->cuDevicePrimaryCtxRetain(&context, device),
                                   "cuDevicePrimaryCtxRetain"));
  return std::shared_ptr<Context>(new Context(*driver, ordinal, device, context));
}

Context::~Context() { driver_.cuDevicePrimaryCtxRelease(device_); }

int Context::Attribute(CUdevice_attribute attribute) const {
  int value = 0;
  return driver_.cuDeviceGetAttribute(&value, attribute, device_) == CUDA_SUCCESS ? value : 0;
}

void Context::EnablePeer(Context& other) {
  if (!peers_.insert(other.ordinal_).second) return;
  int can = 0;
  if (driver_.cuDeviceCanAccessPeer(&can, device_, other.device_) != CUDA_SUCCESS || can == 0) {
    return;
  }
  const Current current(*this);
  driver_.cuCtxEnablePeerAccess(other.context_, 0);  // already enabled is fine, too
}

absl::Status Context::TakeFailure() { return std::exchange(failure_, absl::OkStatus()); }

}  // namespace drydock::gpu::cuda
