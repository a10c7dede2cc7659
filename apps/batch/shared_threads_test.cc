// Threads that the engines of several GPUs share.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/async/transfer/rail_threads.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/forwarding.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::batch {
namespace {

using ::drydock::testing_matchers::StatusIs;
using fabric::Completion;
using fabric::CompletionQueue;
using fabric::CompletionQueueOptions;
using fabric::Domain;
using fabric::Fabric;
using fabric::ReadResult;
using fabric::async::transfer::Engine;
using fabric::async::transfer::RailThreads;

// Which thread reads a queue.
using Reader = std::atomic<std::thread::id>;

class NotingQueue final : public fabric::ForwardingCompletionQueue {
 public:
  NotingQueue(std::unique_ptr<CompletionQueue> queue, Reader& reader)
      : ForwardingCompletionQueue(std::move(queue)), reader_(reader) {}
  ReadResult Read(std::span<Completion> entries) override {
    reader_ = std::this_thread::get_id();
    return wrapped().Read(entries);
  }

 private:
  Reader& reader_;
};

class NotingDomain final : public fabric::ForwardingDomain {
 public:
  using ForwardingDomain::ForwardingDomain;
  absl::StatusOr<std::unique_ptr<CompletionQueue>> OpenCompletionQueue(
      const CompletionQueueOptions& options) override {
    ASSIGN_OR_RETURN(auto queue, wrapped().OpenCompletionQueue(options));
    return std::make_unique<NotingQueue>(std::move(queue), reader);
  }

  Reader reader{};
};

TEST(SharedThreadsTest, EveryThreadHasItsShareOfTheNicsOfAllEngines) {
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  std::vector<std::unique_ptr<sim::World>> worlds;  // a thread's NIC is alone in its world
  std::vector<std::unique_ptr<Fabric>> fabrics;
  std::vector<std::unique_ptr<NotingDomain>> nics;
  RailThreads threads({.threads = 4});
  std::vector<std::unique_ptr<Engine>> engines;
  for (std::size_t engine = 0; engine < 2; ++engine) {
    std::vector<Domain*> domains;
    for (std::size_t nic = 0; nic < 2; ++nic) {
      worlds.push_back(std::make_unique<sim::World>(/*seed=*/1, **sim::FindProfile("small"),
                                                    sim::kAsFastAsItGoes));
      fabrics.push_back(sim::OpenSimFabric(*worlds.back(), worlds.back()->AddNode("host")));
      nics.push_back(std::make_unique<NotingDomain>(fabrics.back()->OpenDomain(0).value()));
      domains.push_back(nics.back().get());
    }
    engines.push_back(
        Engine::Open(loop, domains,
                     {.threads = &threads, .first_shared_nic = 2 * engine, .shared_nics = 4})
            .value());
  }
  threads.Start();
  std::set<std::thread::id> readers;
  for (const auto& nic : nics) {
    while (nic->reader.load() == std::thread::id()) std::this_thread::yield();
    readers.insert(nic->reader);
  }
  threads.Stop();
  EXPECT_EQ(readers.size(), 4u);
  Domain* const one[] = {nics.front().get()};
  for (const std::size_t first : {std::size_t{4}, SIZE_MAX}) {
    for (const std::size_t shared : {0, 4}) {
      EXPECT_THAT(
          Engine::Open(loop, one,
                       {.threads = &threads, .first_shared_nic = first, .shared_nics = shared}),
          StatusIs(absl::StatusCode::kInvalidArgument));
    }
  }
}

}  // namespace
}  // namespace drydock::apps::batch
