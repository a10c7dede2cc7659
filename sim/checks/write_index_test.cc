#include "drydock/sim/checks/write_index.h"

#include <cstdint>
#include <vector>

#include "drydock/sim/checks/watched_queue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kBase = 0x7f3a12340000;

// The targets of those that write some of these bytes.
std::vector<std::uint64_t> Overlapping(const WriteIndex& index, std::uint64_t address,
                                       std::uint64_t length) {
  std::vector<std::uint64_t> targets;
  index.ForEachOverlapping(address, length, [&targets](const WatchedRequest& request) {
    targets.push_back(request.target);
  });
  return targets;
}

TEST(WriteIndexTest, FindsWhatOverlapsUntilItIsRemoved) {
  WriteIndex index;
  std::vector<WatchedRequest> requests(3);
  index.Insert(requests[0], kBase, 64);
  index.Insert(requests[1], kBase + 64, 64);
  index.Insert(requests[2], kBase + 100, 100'000);
  EXPECT_THAT(Overlapping(index, kBase + 60, 4), ElementsAre(kBase));
  EXPECT_THAT(Overlapping(index, kBase + 99, 2), ElementsAre(kBase + 64, kBase + 100));
  EXPECT_THAT(Overlapping(index, kBase + 90'000, 1), ElementsAre(kBase + 100));
  EXPECT_THAT(Overlapping(index, kBase + 100'100, 1), IsEmpty());
  index.Remove(requests[1]);
  index.Remove(requests[1]);
  EXPECT_THAT(Overlapping(index, kBase + 99, 2), ElementsAre(kBase + 100));
}

// Slots of a ring, pages, rows of a matrix: their cells must not share a list.
TEST(WriteIndexTest, FindsEachOfManyAtAnyStride) {
  constexpr std::uint64_t kRequests = 512;
  for (std::uint64_t length = 64; length <= 4096; length *= 8) {
    for (std::uint64_t stride = length; stride <= length << 20; stride *= 2) {
      WriteIndex index;
      std::vector<WatchedRequest> requests(kRequests);
      for (std::uint64_t i = 0; i < kRequests; ++i) {
        index.Insert(requests[i], kBase + i * stride, length);
      }
      for (std::uint64_t i = 0; i < kRequests; ++i) {
        ASSERT_THAT(Overlapping(index, kBase + i * stride, 1), ElementsAre(kBase + i * stride))
            << "write " << i << " of " << length << " bytes at a stride of " << stride;
      }
    }
  }
}

}  // namespace
}  // namespace drydock::sim
