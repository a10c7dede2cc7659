// Where the data of a transfer lives, who makes it, and whether all of it arrived.

#ifndef APPS_WRITE_DATA_H_
#define APPS_WRITE_DATA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/write/messages.h"
#include "fabric/async/node.h"
#include "fabric/async/registered_buffer.h"

namespace apps::write {

// Wrong pages by region, in the order in which they were asked for.
struct Verification {
  std::array<std::vector<std::uint32_t>, kRegionCount> wrong_pages;
  std::size_t pages = 0;  // that were looked at

  std::size_t wrong() const { return wrong_pages[0].size() + wrong_pages[1].size(); }
  bool correct() const { return wrong() == 0; }

  friend bool operator==(const Verification&, const Verification&) = default;
};

// "Data is correct", or how many pages are wrong and which.
std::string Describe(const Verification& verification);

// Compares what is in the client's regions with what the request asked for.
Verification Verify(const RandomFillMessage& request,
                    const std::array<std::span<const std::byte>, kRegionCount>& regions);

// Not thread-safe. Outlives what it allocated, and the clients and servers that use it.
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
  // Whether every page of the request is where it was to go: as Fill made it, of data_seed + r in
  // region r.
  virtual absl::StatusOr<Verification> Check(
      const RandomFillMessage& request,
      const std::array<fabric::async::BufferRef, kRegionCount>& regions) = 0;
};

// Host memory; the data is that of apps/common/random_data.h. Static storage.
DataMemory& HostData();

}  // namespace apps::write

#endif  // APPS_WRITE_DATA_H_
