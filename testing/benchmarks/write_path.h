// A way for bytes to get from one endpoint to another inside this process: one row of a benchmark.
//
// To add a row, implement WritePath (OpenContractPath does it for any backend of the contract), and
// add it to the list in the benchmark's main file.

#ifndef DRYDOCK_TESTING_BENCHMARKS_WRITE_PATH_H_
#define DRYDOCK_TESTING_BENCHMARKS_WRITE_PATH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace drydock::bench {

// The memory that all paths share, so that they differ in nothing but the way. Slot i of a window
// of writes of n bytes is the range [i * n, (i + 1) * n): writes in flight never overlap.
class Buffers {
 public:
  // Page-aligned, zero, and touched.
  explicit Buffers(std::size_t length_bytes);

  std::byte* source() const { return source_.get(); }
  std::byte* target() const { return target_.get(); }
  std::size_t length_bytes() const { return length_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::size_t length_bytes_;
  std::unique_ptr<std::byte[], Free> source_;
  std::unique_ptr<std::byte[], Free> target_;
};

// How many bytes, how many at a time.
struct Shape {
  std::size_t bytes = 0;
  std::size_t window = 1;
};

// What it is: two endpoints, each with its completion queue, and a writer. Ownership: the buffers
// belong to the caller and outlive it. Threads: one.
class WritePath {
 public:
  virtual ~WritePath() = default;

  // For the table: "shm, raw libfabric".
  virtual std::string name() const = 0;

  // Writes `count` times with an immediate, from the shared source to the shared target: posts a
  // window of writes one by one, and reads both completions of each, the initiator's and the
  // target's, before the next window. REQUIRES: shape.window divides count; the window fits the
  // buffers. Errors: a completion that failed, or that does not come.
  virtual absl::Status Write(const Shape& shape, std::uint64_t count) = 0;
};

// Fails unless `write` really moves the bytes of the first `shape.window` slots. `name`: the
// writer's.
absl::Status VerifyWrites(const std::string& name, const Buffers& buffers, const Shape& shape,
                          const std::function<absl::Status()>& write);

// The same of one window of a path.
absl::Status VerifyPath(WritePath& path, const Buffers& buffers, const Shape& shape);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_WRITE_PATH_H_
