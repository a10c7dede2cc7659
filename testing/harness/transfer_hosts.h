// Machines with transfer engines in one simulated world.

#ifndef DRYDOCK_TESTING_HARNESS_TRANSFER_HOSTS_H_
#define DRYDOCK_TESTING_HARNESS_TRANSFER_HOSTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/async/transfer/rail_threads.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"

namespace drydock::harness {

using fabric::async::transfer::Engine;
using fabric::async::transfer::EngineOptions;
using fabric::async::transfer::MemoryRef;
using fabric::async::transfer::RemoteRef;

// One machine: the engine dies first.
class Host {
 public:
  // An engine on the first `nics` NICs of each of the fabrics.
  static absl::StatusOr<std::unique_ptr<Host>> Open(
      coro::EventLoop& loop, std::vector<std::unique_ptr<fabric::Fabric>> fabrics, std::size_t nics,
      const EngineOptions& options);

  Engine& engine() { return *engine_; }
  // Fresh memory of which every byte depends on `seed` and on its place.
  absl::StatusOr<MemoryRef> Filled(std::size_t bytes, std::uint64_t seed);

 private:
  std::vector<std::unique_ptr<fabric::Fabric>> fabrics_;
  std::vector<std::unique_ptr<fabric::Domain>> domains_;
  std::unique_ptr<Engine> engine_;
};

// Whether `bytes` bytes at `at` are those that Filled with this seed puts at `from`.
bool Holds(const MemoryRef& memory, std::uint64_t at, std::uint64_t bytes, std::uint64_t seed,
           std::uint64_t from);

// `from` knows `to` and the other way round; the number of `to` at `from`.
coro::Task<absl::StatusOr<std::uint32_t>> Introduce(Host& from, Host& to);

// Hosts of one world and one profile, each of which knows the others.
class Cluster {
 public:
  Cluster(std::size_t hosts, std::size_t nics, const EngineOptions& options = {},
          std::uint64_t seed = 1, const char* profile = "p5");

  Host& operator[](std::size_t i) { return *hosts_[i]; }
  Engine& engine(std::size_t i) { return hosts_[i]->engine(); }
  std::size_t size() const { return hosts_.size(); }
  // Host `to`, as `from` calls it. REQUIRES: Connect ran.
  std::uint32_t peer(std::size_t from, std::size_t to) const { return peers_[from][to]; }
  // Memory of host `to`, as host `from` may write to it.
  RemoteRef Import(std::size_t from, std::size_t to, const MemoryRef& memory);

  coro::Task<absl::Status> Connect();

  sim::World world;
  coro::EventLoop loop;

 private:
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::vector<std::uint32_t>> peers_;
};

// A sender whose NICs have links of these rates, in Gbit/s, and a receiver with as many NICs of the
// p5 profile. They know each other.
class UnequalPair {
 public:
  UnequalPair(const std::vector<double>& gbps, const EngineOptions& options, std::uint64_t seed);

  Engine& sender() { return sender_->engine(); }
  Engine& receiver() { return receiver_->engine(); }
  coro::EventLoop& loop() { return loop_; }
  // This NIC of the sender falls silent, for good.
  void Kill(std::size_t nic) { nodes_[nic]->Kill(); }

 private:
  std::unique_ptr<Host> Open(const std::vector<double>& gbps, const EngineOptions& options);

  std::vector<std::unique_ptr<sim::Profile>> profiles_;
  sim::World world_;
  coro::EventLoop loop_;
  std::vector<sim::Node*> nodes_;  // the sender's first: each NIC is alone on its machine
  std::unique_ptr<Host> sender_;
  std::unique_ptr<Host> receiver_;
};

// A sender and a receiver in real time. NIC i of both is in a world of its own, since a world is
// one thread's: so it reaches NIC i of the other, and no other.
class LivePair {
 public:
  // `threads` for the NICs, NIC i of both hosts on one; 0: everything is on the program's loop.
  LivePair(std::size_t nics, std::size_t threads);

  // The threads begin and end. A world is used by one thread at a time: memory is registered before
  // they begin, and goes after they have ended.
  void Start();
  void Stop();

  Host& sender() { return *sender_; }
  Host& receiver() { return *receiver_; }
  coro::EventLoop& loop() { return loop_; }

 private:
  std::unique_ptr<Host> Open(const char* name);

  coro::SteadyClock clock_;
  coro::EventLoop loop_;
  std::vector<std::unique_ptr<sim::World>> worlds_;
  std::unique_ptr<fabric::async::transfer::RailThreads> threads_;
  std::unique_ptr<Host> sender_;
  std::unique_ptr<Host> receiver_;
};

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_TRANSFER_HOSTS_H_
