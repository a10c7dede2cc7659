// Commands of the stand-in GPU: kept, and done as late as a GPU may do them.

#ifndef DRYDOCK_GPU_HOST_DEVICE_HOST_STREAM_H_
#define DRYDOCK_GPU_HOST_DEVICE_HOST_STREAM_H_

#include <cstddef>
#include <deque>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/host_device/host_memory.h"

namespace drydock::gpu {

// Not thread-safe, as Stream.
class HostStream final : public Stream {
 public:
  HostStream() = default;
  ~HostStream() override { Run(commands_.size()); }

  absl::Status Fill(std::byte* target, std::size_t length_bytes, const Pattern& pattern) override;
  absl::Status Copy(std::byte* target, const std::byte* source, std::size_t length_bytes) override;
  absl::Status CopyFromHost(std::byte* target, const std::byte* host,
                            std::size_t length_bytes) override;
  absl::Status CopyToHost(std::byte* host, const std::byte* source,
                          std::size_t length_bytes) override;
  absl::StatusOr<bool> Done() override;
  absl::Status Synchronize() override;
  absl::StatusOr<Mismatch> Verify(const std::byte* source, std::size_t length_bytes,
                                  const Pattern& pattern) override;

 private:
  void Run(std::size_t commands);

  std::deque<std::function<void()>> commands_;
};

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_HOST_DEVICE_HOST_STREAM_H_
