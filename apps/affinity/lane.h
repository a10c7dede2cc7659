// The transfer that is measured: one NIC writes pages into the memory of another one, or of itself.

#ifndef DRYDOCK_APPS_AFFINITY_LANE_H_
#define DRYDOCK_APPS_AFFINITY_LANE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/affinity/pages.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/fabric.h"

namespace drydock::apps::affinity {

// Of every NIC.
struct Load {
  std::uint64_t page_bytes = 256 << 10;
  std::uint64_t window = 8;                           // pages under way
  std::uint64_t pages = 64;                           // all told
  std::uint64_t small = 32;                           // writes of kSmallBytes, one after the other
  coro::Duration timeout = std::chrono::seconds(30);  // of each write
};

inline constexpr std::uint64_t kSmallBytes = 4096;

// Gbit/s of all pages in so long; 0 when no time passed.
double Gbps(const Load& load, coro::Duration took);

// Bytes that each end of a lane needs.
std::size_t BytesOf(const Load& load);

// Two nodes on one loop, the first of which writes into the memory of the second. Not
// thread-safe; dies before its loop and fabrics.
class Lane {
 public:
  // `source` and `target` are BytesOf(load) long. Errors: those of opening; kUnimplemented: the NIC
  // cannot write.
  static absl::StatusOr<std::unique_ptr<Lane>> Open(coro::EventLoop& loop, fabric::Fabric& from,
                                                    fabric::Fabric& to, std::size_t nic,
                                                    const Load& load, Pages source, Pages target);

  // Writes Load::small small pieces, each when the one before it has ended; returns how long one
  // took.
  coro::Task<absl::StatusOr<coro::Duration>> WriteOneByOne();

  // Writes Load::pages pages, Load::window at a time, until all have arrived; returns how long that
  // took. kDataLoss: the bytes are not those that were sent.
  coro::Task<absl::StatusOr<coro::Duration>> WriteMany();

 private:
  Lane(const Load& load, Pages source, Pages target)
      : load_(load), source_pages_(std::move(source)), target_pages_(std::move(target)) {}

  coro::Task<absl::Status> WriteSome(std::uint64_t slot);
  coro::Time Deadline() { return coro::After(from_->loop().Now(), load_.timeout); }

  const Load load_;
  Pages source_pages_;
  Pages target_pages_;
  std::unique_ptr<fabric::async::Node> from_;
  std::unique_ptr<fabric::async::Node> to_;
  fabric::async::BufferRef source_;
  fabric::async::BufferRef target_;
  fabric::Peer peer_{};
  std::uint64_t begun_ = 0;  // pages of WriteMany
};

}  // namespace drydock::apps::affinity

#endif  // DRYDOCK_APPS_AFFINITY_LANE_H_
