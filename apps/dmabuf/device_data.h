// The data of a transfer on a device: made there, checked there, and never seen by the host.

#ifndef DRYDOCK_APPS_DMABUF_DEVICE_DATA_H_
#define DRYDOCK_APPS_DMABUF_DEVICE_DATA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/page_data.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/gpu/device_buffer.h"
#include "drydock/gpu/device_memory.h"

namespace drydock::apps::dmabuf {

// kAuto: by dmabuf, or by address where something has none of them.
enum class RegisterBy : std::uint8_t { kAuto, kDmabuf, kAddress };

// As --register calls it. kInvalidArgument: nothing is called so.
absl::StatusOr<RegisterBy> ParseRegisterBy(absl::string_view name);

// Not thread-safe. The device outlives it.
class DeviceData final : public DataMemory {
 public:
  DeviceData(gpu::Device& device, RegisterBy how, gpu::Allocation allocation)
      : device_(device), how_(how), allocation_(allocation) {}

  std::size_t word_bytes() const override { return sizeof(std::uint64_t); }
  absl::StatusOr<fabric::async::BufferRef> Allocate(fabric::async::Node& node,
                                                    std::size_t length_bytes) override;
  absl::Status Fill(const fabric::async::BufferRef& region, std::size_t length_bytes,
                    std::uint64_t seed) override;
  absl::StatusOr<Verification> Check(
      const PageList& list,
      const std::array<fabric::async::BufferRef, kRegionCount>& regions) override;

  // "cuda:0 (NVIDIA H200, CUDA 13.0), registered by dmabuf": after the first Allocate.
  std::string Describe() const;

 private:
  absl::StatusOr<fabric::async::BufferRef> AllocateBy(fabric::Domain& domain,
                                                      std::size_t length_bytes,
                                                      gpu::Registration registration);

  gpu::Device& device_;
  const RegisterBy how_;
  const gpu::Allocation allocation_;
  std::string registered_;  // how it was, and why
};

}  // namespace drydock::apps::dmabuf

#endif  // DRYDOCK_APPS_DMABUF_DEVICE_DATA_H_
