#include "drydock/testing/benchmarks/memory_fabric.h"

#include <memory>
#include <utility>

namespace drydock::bench {
namespace {

class UnknownRegion final : public fabric::MemoryRegion {
 public:
  UnknownRegion(std::byte* data, std::size_t length_bytes)
      : data_(data), length_bytes_(length_bytes) {}

  std::byte* data() const override { return data_; }
  std::size_t length_bytes() const override { return length_bytes_; }
  fabric::Access access() const override { return fabric::Access::kAll; }
  std::uint64_t local_key() const override { return 1; }
  fabric::RemoteBuffer remote() const override {
    return {reinterpret_cast<std::uint64_t>(data_), 1};
  }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  std::byte* data_;
  std::size_t length_bytes_;
};

}  // namespace

fabric::async::BufferRef MakeMemoryBuffer(std::size_t length_bytes) {
  auto bytes = std::make_unique<std::byte[]>(length_bytes);
  auto region = std::make_unique<UnknownRegion>(bytes.get(), length_bytes);
  return fabric::async::BufferRef(
      std::make_unique<fabric::async::RegisteredBuffer>(std::move(bytes), std::move(region)));
}

}  // namespace drydock::bench
