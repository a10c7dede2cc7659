// Pages of data that one machine writes into the memory of another: where they live, how they are
// made, and whether all of them arrived.

#ifndef DRYDOCK_APPS_COMMON_PAGE_DATA_H_
#define DRYDOCK_APPS_COMMON_PAGE_DATA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"

namespace drydock::apps {

inline constexpr std::size_t kRegionCount = 2;  // of the memory on either side
inline constexpr std::uint64_t kDefaultPageBytes = 1u << 20;
inline constexpr std::uint64_t kDefaultDataSeed = 0xb584035fabe6ce9bull;

// Which pages of each region are written: the k-th page of the data of seed data_seed + r goes to
// page page_indices[k] of region r.
struct PageList {
  std::uint64_t data_seed = kDefaultDataSeed;
  std::uint64_t page_bytes = kDefaultPageBytes;
  std::vector<std::uint32_t> page_indices;
};

// `count` distinct page numbers below `pages`, in an order that the seed determines.
// REQUIRES: count <= pages.
std::vector<std::uint32_t> ScatteredPages(std::uint64_t count, std::uint64_t pages,
                                          std::uint64_t seed);

// kInvalidArgument: the page size does not divide the region.
absl::Status CheckPageSize(std::uint64_t page_bytes, std::uint64_t region_bytes);

// Whether a list makes sense for regions of this size: pages divide the region, and every index
// lies within it and comes once. kInvalidArgument says what is wrong.
absl::Status CheckPages(const PageList& list, std::uint64_t region_bytes);

// Wrong pages by region, in the order of the list.
struct Verification {
  std::array<std::vector<std::uint32_t>, kRegionCount> wrong_pages;
  std::size_t pages = 0;  // that were looked at

  std::size_t wrong() const { return wrong_pages[0].size() + wrong_pages[1].size(); }
  bool correct() const { return wrong() == 0; }

  friend bool operator==(const Verification&, const Verification&) = default;
};

// The result of a transfer.
struct TransferReport {
  Verification verification;
  std::uint64_t bytes = 0;
  coro::Duration elapsed{};  // on the loop's clock, from the request to the last
                             // announcement
};

// "9, 10, 4": at most 16 of them, and how many more there are.
std::string DescribePages(const std::vector<std::uint32_t>& pages);

// "Data is correct", or how many pages are wrong and which.
std::string Describe(const Verification& verification);

// Compares the bytes in the client's regions with the list.
Verification Verify(const PageList& list,
                    const std::array<std::span<const std::byte>, kRegionCount>& regions);

// Not thread-safe. Outlives its allocations and their users.
class DataMemory {
 public:
  virtual ~DataMemory() = default;

  // Pages must consist of whole words of so many bytes.
  virtual std::size_t word_bytes() const = 0;

  // A region, registered with the node's NIC. Errors: those of allocation and registration.
  virtual absl::StatusOr<fabric::async::BufferRef> Allocate(fabric::async::Node& node,
                                                            std::size_t length_bytes) = 0;
  // Puts the beginning of the data of `seed` at the beginning of the region. REQUIRES: it fits, and
  // is whole words.
  virtual absl::Status Fill(const fabric::async::BufferRef& region, std::size_t length_bytes,
                            std::uint64_t seed) = 0;
  // Whether every page of the list is where it was to go: as Fill made it, of data_seed + r in
  // region r.
  virtual absl::StatusOr<Verification> Check(
      const PageList& list, const std::array<fabric::async::BufferRef, kRegionCount>& regions) = 0;
};

// Host memory; the data is that of coro/keyed_bytes.h. Static storage.
DataMemory& HostData();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_PAGE_DATA_H_
