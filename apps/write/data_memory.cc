#include "apps/write/data_memory.h"

#include "apps/write/random_data.h"
#include "fabric/async/node.h"

namespace apps::write {
namespace {

using fabric::async::BufferRef;

class HostDataMemory final : public DataMemory {
 public:
  std::size_t word_bytes() const override { return 1; }
  absl::StatusOr<BufferRef> Allocate(fabric::async::Node& node, std::size_t length_bytes) override {
    return node.Allocate(length_bytes);
  }
  absl::Status Fill(const BufferRef& region, std::size_t length_bytes,
                    std::uint64_t seed) override {
    FillRandom(region->bytes().first(length_bytes), seed);
    return absl::OkStatus();
  }
  absl::StatusOr<Verification> Check(const RandomFillMessage& request,
                                     const std::array<BufferRef, kRegionCount>& regions) override {
    return Verify(request, {regions[0]->bytes(), regions[1]->bytes()});
  }
};

}  // namespace

DataMemory& HostData() {
  static HostDataMemory memory;
  return memory;
}

}  // namespace apps::write
