// How many pages a region may have, by ranges larger than any memory: no byte of them is there.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/peer_memory.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/scene.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

// 1M pages (ofiwg/libfabric pull request 10402): 4 GiB of usual pages, and much more of huge ones.
TEST(LimitTest, RegionThatPeersWriteEndsAtSoManyPagesAndNotBytes) {
  constexpr std::uint64_t kGiB = 1 << 30;
  Lab lab(1, CopyOf("p5"));
  Side& a = lab.Add("a");
  auto* const data = reinterpret_cast<std::byte*>(1024 * kGiB);
  const auto all = [&](std::byte* begin, std::uint64_t bytes) {
    return a.domain->RegisterMemory({.data = begin, .length_bytes = bytes});
  };
  EXPECT_THAT(all(data, 4 * kGiB), IsOk());
  EXPECT_THAT(all(data, 4 * kGiB + 1),
              StatusIs(kExhausted,
                       AllOf(HasSubstr("1048577 pages are"), HasSubstr("each has 4096 bytes"))));
  sim::MemoryBus& bus = lab.world().bus();
  bus.SetPages({data, 64 * kGiB}, 2 << 20);
  EXPECT_THAT(all(data, 64 * kGiB), IsOk());
  // The page size of a part says nothing about the rest.
  EXPECT_THAT(all(data, 64 * kGiB + 1), StatusIs(kExhausted, HasSubstr("each has 4096 bytes")));
  EXPECT_THAT(all(data - 1, 64 * kGiB), StatusIs(kExhausted, HasSubstr("each has 4096 bytes")));
  // Two kinds beside each other count as the smaller one.
  bus.SetPages({data + 64 * kGiB, 64 * kGiB}, 1 << 30);
  EXPECT_THAT(all(data, 128 * kGiB), IsOk());
  bus.SetPages({data + 64 * kGiB, 64 * kGiB}, 64 << 10);
  EXPECT_THAT(all(data, 128 * kGiB),
              StatusIs(kExhausted,
                       AllOf(HasSubstr("2097152 pages are"), HasSubstr("each has 65536 bytes"))));
  // Memory that is given back is forgotten, and all ranges that it overlaps.
  bus.SetPages({data + kGiB, 1}, 0);
  EXPECT_THAT(all(data, 64 * kGiB), StatusIs(kExhausted, HasSubstr("each has 4096 bytes")));
}

// A GPU whose memory is never touched.
class FakeGpu final : public fabric::PeerMemoryClient {
 public:
  class Memory final : public fabric::PeerMemory {
   public:
    std::uint64_t address() const override { return kAddress; }
    std::uint64_t length_bytes() const override { return kLength; }
    void Read(Way, std::byte*, std::uint64_t, std::uint64_t) override {}
    Ticket Write(Way, std::uint64_t, const std::byte*, std::uint64_t) override { return 0; }
    std::optional<Ticket> CopyFrom(Way, std::uint64_t, PeerMemory&, Way, std::uint64_t,
                                   std::uint64_t) override {
      return std::nullopt;
    }
    void MakeVisible(Ticket) override {}
    void Push(Way) override {}
    std::chrono::nanoseconds visibility_delay() const override { return {}; }
  };
  static constexpr std::uint64_t kAddress = std::uint64_t{1} << 50;
  static constexpr std::uint64_t kLength = std::uint64_t{80} << 30;

  fabric::MemoryKind kind() const override { return fabric::MemoryKind::kStandIn; }
  int device() const override { return 0; }
  absl::StatusOr<std::shared_ptr<fabric::PeerMemory>> Pin(const fabric::MemoryRequest&) override {
    return std::make_shared<Memory>();
  }
};

TEST(LimitTest, PagesOfAGpuAreLarger) {
  FakeGpu gpu;
  Lab lab(1, CopyOf("p5"));
  lab.world().AttachDevice(gpu);
  Side& a = lab.Add("a");
  fabric::MemoryRequest request{.data = reinterpret_cast<std::byte*>(FakeGpu::kAddress),
                                .length_bytes = std::uint64_t{64} << 30,
                                .kind = fabric::MemoryKind::kStandIn};
  EXPECT_THAT(a.domain->RegisterMemory(request), IsOk());
  request.length_bytes += 1;
  EXPECT_THAT(a.domain->RegisterMemory(request),
              StatusIs(kExhausted,
                       AllOf(HasSubstr("1048577 pages are"), HasSubstr("each has 65536 bytes"))));
}

}  // namespace
}  // namespace drydock::sim_testing
