// A client of two servers that hold the same blocks: writes to both, reads from
// whichever answers first, and tells a collector of every call.

#ifndef DRYDOCK_APPS_BLOCKS_CLIENT_H_
#define DRYDOCK_APPS_BLOCKS_CLIENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/blocks/settings.h"
#include "drydock/apps/blocks/store.h"
#include "drydock/coro/channel.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/barrier.h"
#include "drydock/fabric/async/buffer_pool.h"
#include "drydock/fabric/async/credited_messages.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/request_channel.h"

namespace drydock::apps::blocks {

// What a client tells the collector of each call.
struct Record {
  std::uint64_t client = 0;
  std::uint64_t block = 0;
  std::uint64_t version = 0;
  std::int64_t nanoseconds = 0;
};

// What clients and servers agree on: `window` is a client's.
fabric::async::RequestOptions CallOptions(std::uint64_t session, std::size_t window);
// What a client and the collector agree on.
fabric::async::CreditTerms LogTerms();

// How clients reach each other at the barrier.
struct Meeting {
  fabric::Address address;
  fabric::RemoteBuffer flag;
};

// Not thread-safe. Lives within a running loop; dies before its node.
class Client {
 public:
  // Opens its endpoints and memory. Errors: those of the domain.
  static absl::StatusOr<std::unique_ptr<Client>> Open(fabric::async::Node& node, std::size_t number,
                                                      const Settings& settings);

  // ---- What the others have to know ----
  fabric::Address address_for(std::size_t server) const { return callers_[server]->address(); }
  fabric::Address log_address() const { return node_.address(); }
  fabric::RemoteBuffer credit_bytes() const { return credit_->region().remote(); }
  Meeting meeting() const { return {node_.address(), barrier_->flag()}; }

  // Learns of them. Errors: those of the address vector.
  absl::Status Connect(const std::array<fabric::Address, kServers>& servers,
                       const fabric::Address& collector, const std::vector<Meeting>& clients);

  // In every round: writes its own blocks, waits for all clients, reads all
  // blocks, waits again. REQUIRES: connected.
  coro::Task<absl::Status> Work();

  Tally tally() const;

 private:
  using Step = coro::Task<absl::Status> (Client::*)(std::uint64_t block, std::uint64_t version);

  Client(fabric::async::Node& node, std::size_t number, const Settings& settings)
      : node_(node), number_(number), settings_(settings) {}

  // Takes `step` for every `stride`-th block from `first` on, as many at once
  // as the window has.
  coro::Task<absl::Status> ForBlocks(std::size_t first, std::size_t stride, Step step,
                                     std::uint64_t version);
  coro::Task<absl::Status> TakeSteps(coro::Channel<std::uint64_t>& numbers, Step step,
                                     std::uint64_t version);
  coro::Task<absl::Status> WriteBoth(std::uint64_t block, std::uint64_t version);
  coro::Task<absl::Status> ReadEither(std::uint64_t block, std::uint64_t version);
  coro::Task<absl::StatusOr<BlockData>> ReadLater(std::size_t server, std::uint64_t block);
  coro::Task<absl::Status> Tell(std::uint64_t block, std::uint64_t version, coro::Time since);

  fabric::async::Node& node_;
  const std::size_t number_;
  const Settings settings_;
  std::array<std::unique_ptr<fabric::async::AsyncEndpoint>, kServers> callers_;
  std::array<fabric::async::BufferRef, kServers> call_memory_;
  fabric::async::BufferRef credit_;  // where the collector writes
  std::optional<fabric::async::BufferPool> records_;
  std::optional<fabric::async::Barrier> barrier_;
  std::array<std::optional<fabric::async::RequestClient>, kServers> calls_;
  std::optional<fabric::async::CreditedSender> log_;
  Tally tally_;
};

}  // namespace drydock::apps::blocks

#endif  // DRYDOCK_APPS_BLOCKS_CLIENT_H_
