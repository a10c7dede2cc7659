// Commands of the stand-in GPU: kept, and done as late as a GPU may do them.

#ifndef GPU_HOST_DEVICE_HOST_STREAM_H_
#define GPU_HOST_DEVICE_HOST_STREAM_H_

#include <cstddef>
#include <deque>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu/device_memory.h"
#include "gpu/host_device/host_memory.h"

namespace gpu {

// Finds the memory of the device that holds a range; null: none does.
using FindHostMemory = std::function<HostMemory*(const std::byte* address, std::size_t length)>;

// Not thread-safe, as Stream.
class HostStream final : public Stream {
 public:
  explicit HostStream(FindHostMemory find) : find_(std::move(find)) {}
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
  // What the device sees there. kInvalidArgument: it is not its memory.
  absl::StatusOr<std::byte*> Seen(const std::byte* address, std::size_t length) const;
  void Run(std::size_t commands);

  FindHostMemory find_;
  std::deque<std::function<void()>> commands_;
};

}  // namespace gpu

#endif  // GPU_HOST_DEVICE_HOST_STREAM_H_
