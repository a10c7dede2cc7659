// The primary context of one GPU, and the pieces that every user of it needs.

#ifndef DRYDOCK_GPU_CUDA_CONTEXT_H_
#define DRYDOCK_GPU_CUDA_CONTEXT_H_

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/cuda/driver.h"

namespace drydock::gpu::cuda {

// Shared by a device, its streams and its memory; the last one lets the context go.
// Threads: one at a time.
class Context {
 public:
  // kInvalidArgument: there is no such GPU.
  static absl::StatusOr<std::shared_ptr<Context>> Retain(int ordinal);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  const Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  CUdevice device() const { return device_; }

  // 0 when the driver does not know it.
  int Attribute(CUdevice_attribute attribute) const;

  // Lets this GPU reach the memory of another one, where the two can. Without that its copies go
  // through the host, and are right all the same.
  void EnablePeer(Context& other);

  // Makes the context current on this thread, as long as this lives.
  class Current {
   public:
    explicit Current(const Context& context) : driver_(context.driver_) {
      driver_.cuCtxPushCurrent(context.context_);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() {
      CUcontext popped = nullptr;
      driver_.cuCtxPopCurrent(&popped);
    }

   private:
    const Driver& driver_;
  };

  // Remembers the first failure of work that no caller waits for.
  void Remember(const absl::Status& status) { failure_.Update(status); }
  absl::Status TakeFailure();

 private:
  Context(const Driver& driver, int ordinal, CUdevice device, CUcontext context)
      : driver_(driver), ordinal_(ordinal), device_(device), context_(context) {}

  const Driver& driver_;
  const int ordinal_;
  const CUdevice device_;
  const CUcontext context_;
  std::set<int> peers_;  // that were asked for
  absl::Status failure_;
};

}  // namespace drydock::gpu::cuda

#endif  // DRYDOCK_GPU_CUDA_CONTEXT_H_
