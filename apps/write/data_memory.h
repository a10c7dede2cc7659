// Where the data of a transfer lives, and who makes it and checks it: the host, unless a program
// brings something else (apps/dmabuf).

#ifndef APPS_WRITE_DATA_MEMORY_H_
#define APPS_WRITE_DATA_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/write/messages.h"
#include "apps/write/verification.h"
#include "fabric/async/node.h"
#include "fabric/async/registered_buffer.h"

namespace apps::write {

// Not thread-safe. Outlives what it allocated, and the clients and servers that use it.
class DataMemory {
 public:
  virtual ~DataMemory() = default;

  // Pages must consist of whole words of so many bytes.
  virtual std::size_t word_bytes() const = 0;

  // A region, registered with the network's NIC. Errors: those of allocation and registration.
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

// Host memory; the data is that of random_data.h. Static storage.
DataMemory& HostData();

}  // namespace apps::write

#endif  // APPS_WRITE_DATA_MEMORY_H_
