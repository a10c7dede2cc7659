// Faults under way: NICs that die or are slow, completions out of order, full queues.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/testing/harness/seed_test.h"
#include "drydock/testing/harness/transfer_hosts.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async::transfer {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using faults::Fault;
using faults::FaultPlan;
using faults::FaultRule;
using faults::Legality;
using harness::Host;
using harness::Introduce;
using harness::UnequalPair;

constexpr std::uint32_t kPages = 96;
constexpr std::uint64_t kPage = 256;
constexpr std::uint64_t kGuard = 64;

struct Settings {
  coro::Duration completion_timeout = 12s;
  std::size_t window = 16;
  std::uint32_t pages = kPages;
};

// A sender and a receiver in the world of a seed, with all NICs of the profile.
struct TwoHosts {
  std::uint32_t pages = 0;
  std::unique_ptr<Host> from, to;
  std::uint32_t peer = 0;  // the receiver, to the sender
  MemoryRef source, landed;
  RemoteRef target;
};

coro::Task<absl::StatusOr<TwoHosts>> OpenHosts(sim::explore::Trial& trial, Settings settings = {}) {
  EngineOptions options;
  options.nic.window = settings.window;
  options.nic.burst = 4;
  options.nic.operation_timeout = 3s;
  options.nic.completion_timeout = settings.completion_timeout;
  TwoHosts hosts{.pages = settings.pages};
  for (const char* name : {"sender", "receiver"}) {
    CO_ASSIGN_OR_RETURN(auto fabric, trial.OpenMachine(name));
    std::vector<std::unique_ptr<Fabric>> fabrics;
    fabrics.push_back(std::move(fabric));
    CO_ASSIGN_OR_RETURN(auto host,
                        Host::Open(coro::EventLoop::Current(), std::move(fabrics), 2, options));
    (hosts.from == nullptr ? hosts.from : hosts.to) = std::move(host);
  }
  CO_ASSIGN_OR_RETURN(hosts.peer, co_await Introduce(*hosts.from, *hosts.to));
  CO_ASSIGN_OR_RETURN(hosts.source, hosts.from->Filled(hosts.pages * kPage, trial.seed()));
  CO_ASSIGN_OR_RETURN(hosts.landed, hosts.to->engine().Allocate(hosts.pages * kPage + 2 * kGuard));
  CO_ASSIGN_OR_RETURN(hosts.target,
                      hosts.from->engine().Import(hosts.peer, hosts.landed->descriptor()));
  co_return hosts;
}

// Writes all pages, in the opposite order, and looks at every byte.
coro::Task<absl::Status> MoveAll(sim::explore::Trial& trial, TwoHosts& hosts,
                                 coro::Duration patience = 30s) {
  const coro::Time deadline = coro::After(coro::EventLoop::Current().Now(), patience);
  CO_ASSIGN_OR_RETURN(const auto arrived, hosts.to->engine().Expect(1, hosts.pages));
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < hosts.pages; ++i) places.push_back(hosts.pages - 1 - i);
  PagesShape shape;
  shape.pages = hosts.pages;
  shape.page_bytes = kPage;
  shape.to.indices = places;
  shape.to.offset_bytes = kGuard;
  CO_RETURN_IF_ERROR(co_await hosts.from->engine().WritePages(
      hosts.source, hosts.target, shape, {.transfer = 1, .deadline = deadline}));
  const bool all = co_await arrived->Reached(deadline);
  if (!all) co_return absl::DeadlineExceededError("not every page was announced");
  if (arrived->distinct() != hosts.pages) co_return harness::WrongData("pages were counted twice");
  for (std::uint32_t i = 0; i < hosts.pages; ++i) {
    if (!harness::Holds(hosts.landed, kGuard + places[i] * kPage, kPage, trial.seed(), i * kPage)) {
      co_return harness::WrongData("a page that was announced is not there");
    }
  }
  const auto bytes = hosts.landed->bytes();
  for (std::uint64_t i = 0; i < kGuard; ++i) {
    if (bytes[i] != std::byte{0} || bytes[bytes.size() - 1 - i] != std::byte{0}) {
      co_return harness::WrongData("a page landed outside of its place");
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Move(sim::explore::Trial& trial) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial));
  co_return co_await MoveAll(trial, hosts);
}

// With one NIC of either side left, the transfer has to end well.
coro::Task<absl::Status> MoveWell(sim::explore::Trial& trial) {
  const absl::Status status = co_await Move(trial);
  EXPECT_EQ(status, absl::OkStatus()) << "seed " << trial.seed();
  co_return status;
}

// The same, and the sender gives no more work to the one NIC of its own that failed.
coro::Task<absl::Status> MoveWellWithoutOne(sim::explore::Trial& trial) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial));
  const absl::Status status = co_await MoveAll(trial, hosts);
  EXPECT_EQ(status, absl::OkStatus()) << "seed " << trial.seed();
  const Engine& sender = hosts.from->engine();
  std::size_t out = 0;
  for (std::size_t nic = 0; nic < sender.nic_count(); ++nic) out += !sender.nic_stats(nic).alive;
  EXPECT_EQ(out, 1u) << "seed " << trial.seed();
  co_return status;
}

sim::explore::PlanSource Plan(FaultRule rule, Legality mode = Legality::kStrict) {
  FaultPlan plan{.mode = mode};
  plan.rules.push_back(std::move(rule));
  return sim::explore::SamePlan(plan.rules.front().name, plan);
}

FaultRule OnNic(Fault fault, const char* nic, std::uint64_t nth) {
  FaultRule rule = FaultRule::Of(fault);
  rule.when.nics = {nic};
  if (nth > 0) rule.when.nth = nth;
  return rule;
}

FaultRule Storm() {
  FaultRule rule = FaultRule::Of(Fault::kAgainThenAccepted);
  rule.parameters.attempts = 5;
  rule.when.every = 3;
  return rule;
}

FaultRule Reversed() {
  FaultRule rule = FaultRule::Of(Fault::kHeldCompletion);
  rule.parameters.behind = 16;
  rule.when.every = 2;
  return rule;
}

FaultRule Slow() {
  FaultRule rule = OnNic(Fault::kSlowLink, "sender/rdmap79s0", 0);
  rule.parameters.factor = 10;
  return rule;
}

// How many operations a NIC has begun in the middle of its share. By its speed the balance gives a
// NIC as little as a quarter of the pages.
constexpr std::uint64_t kMiddle = 12;

// The NIC falls silent in the middle, also to its own program.
DD_SEED_TEST(Transfer, SendingNicDies,
             {.seeds = 25, .faults = Plan(OnNic(Fault::kNicDies, "sender/rdmap79s0", kMiddle))}) {
  return MoveWellWithoutOne(trial);
}
DD_SEED_TEST(Transfer, ReceivingNicDies,
             {.seeds = 25, .faults = Plan(OnNic(Fault::kNicDies, "receiver/rdmap147s0", 40))}) {
  return MoveWell(trial);
}

// The device tries for so long before it reports a silent peer.
sim::explore::PlanSource Patient(sim::explore::PlanSource plans) {
  plans.figures = [](std::uint64_t) {
    return std::map<std::string, std::int64_t>{{"unreachable_timeout", 60'000'000'000},
                                               {"unresponsive_timeout", 60'000'000'000}};
  };
  return plans;
}
// A NIC that waits for a silent peer is not dead, however long it waits.
DD_SEED_TEST(Transfer, SilentPeerCostsNoNicOfTheSender,
             {.seeds = 25,
              .faults = Patient(Plan(OnNic(Fault::kNicDies, "receiver/rdmap147s0", 40)))}) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial, {.completion_timeout = 75s}));
  const absl::Status status = co_await MoveAll(trial, hosts, 110s);
  EXPECT_EQ(status, absl::OkStatus()) << "seed " << trial.seed();
  const Engine& sender = hosts.from->engine();
  for (std::size_t nic = 0; nic < sender.nic_count(); ++nic) {
    EXPECT_TRUE(sender.nic_stats(nic).alive) << "seed " << trial.seed();
  }
  co_return status;
}
// One that is dead is found soon, even so.
DD_SEED_TEST(Transfer, SilentNicIsToldFromASilentPeer,
             {.seeds = 25,
              .faults = Patient(Plan(OnNic(Fault::kNicDies, "sender/rdmap79s0", 40)))}) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial, {.completion_timeout = 75s}));
  const absl::Status status = co_await MoveAll(trial, hosts, 8s);
  EXPECT_EQ(status, absl::OkStatus()) << "seed " << trial.seed();
  co_return status;
}
// Also when it has as much under way as its queue takes: there is room for the question.
DD_SEED_TEST(Transfer, SilentNicIsToldWithItsWindowFull,
             {.seeds = 10,
              .faults = Patient(Plan(OnNic(Fault::kNicDies, "sender/rdmap79s0", 200)))}) {
  CO_ASSIGN_OR_RETURN(
      TwoHosts hosts,
      co_await OpenHosts(trial, {.completion_timeout = 75s, .window = 4096, .pages = 900}));
  const absl::Status status = co_await MoveAll(trial, hosts, 8s);
  EXPECT_EQ(status, absl::OkStatus()) << "seed " << trial.seed();
  co_return status;
}
// The answer of a NIC is lost, and what it was asked for ends well: when the next peer falls silent,
// it is asked again.
sim::explore::PlanSource TwoSilences() {
  FaultRule lost = FaultRule::Of(Fault::kQueueOverrun);
  lost.when.nics = {"sender/rdmap79s0", "sender/rdmap147s0"};
  lost.when.size = {.min = 0, .max = 0};
  lost.when.max = 2;
  FaultPlan plan{.mode = Legality::kAdversarial};
  plan.rules = {OnNic(Fault::kNicDies, "receiver/rdmap147s0", 20), std::move(lost)};
  plan.rules.push_back(OnNic(Fault::kNicDies, "receiver/rdmap79s0", 150));
  plan.rules.back().name = "the other one dies";
  sim::explore::PlanSource plans = sim::explore::SamePlan("two-silences", plan);
  plans.figures = [](std::uint64_t) {
    return std::map<std::string, std::int64_t>{{"unreachable_timeout", 4'000'000'000},
                                               {"unresponsive_timeout", 4'000'000'000}};
  };
  return plans;
}
DD_SEED_TEST(Transfer, AnAnswerThatWasLostIsNotMissedLater,
             {.seeds = 10, .faults = TwoSilences()}) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial, {.completion_timeout = 75s}));
  const absl::Status first = co_await MoveAll(trial, hosts);
  EXPECT_EQ(first, absl::OkStatus()) << "seed " << trial.seed();
  // No NIC of the receiver is left in the end.
  const absl::Status second = co_await MoveAll(trial, hosts);
  EXPECT_FALSE(second.ok()) << "seed " << trial.seed();
  const Engine& sender = hosts.from->engine();
  for (std::size_t nic = 0; nic < sender.nic_count(); ++nic) {
    EXPECT_TRUE(sender.nic_stats(nic).alive) << "seed " << trial.seed();
  }
  co_return absl::OkStatus();
}
// A completion that is lost has no NIC that is silent, nor a peer: that takes longest.
DD_SEED_TEST(Transfer, LostCompletionCostsItsNic,
             {.seeds = 10,
              .faults = Plan(OnNic(Fault::kQueueOverrun, "sender/rdmap79s0", kMiddle),
                             Legality::kAdversarial)}) {
  return MoveWellWithoutOne(trial);
}

// It restarts: its operations under way fail, and its queue pair is gone.
DD_SEED_TEST(Transfer, SendingNicRestarts,
             {.seeds = 25, .faults = Plan(OnNic(Fault::kNicResets, "sender/rdmap79s0", kMiddle))}) {
  return MoveWellWithoutOne(trial);
}
DD_SEED_TEST(Transfer, ReceivingNicRestarts,
             {.seeds = 25, .faults = Plan(OnNic(Fault::kNicResets, "receiver/rdmap147s0", 40))}) {
  return MoveWell(trial);
}
DD_SEED_TEST(Transfer, SendingNicIsSlow, {.seeds = 12, .faults = Plan(Slow())}) {
  return MoveWell(trial);
}
DD_SEED_TEST(Transfer, CompletionsComeInAnotherOrder, {.seeds = 12, .faults = Plan(Reversed())}) {
  return MoveWell(trial);
}
DD_SEED_TEST(Transfer, QueuesAreFullAgainAndAgain,
             {.seeds = 12, .faults = Plan(Storm(), Legality::kAdversarial)}) {
  return MoveWell(trial);
}
DD_SEED_TEST(Transfer, AnythingHappens, {.seeds = 60}) { return Move(trial); }

// A program that was stopped, and then reads its completions a few at a time: nobody could look.
FaultRule ShortReads() {
  FaultRule rule = FaultRule::Of(Fault::kShortRead);
  rule.parameters.entries = 1;
  return rule;
}
DD_SEED_TEST(Transfer, TheTimeOfAStoppedProgramCountsAgainstNoNic,
             {.seeds = 5, .faults = Plan(ShortReads())}) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial));
  auto stop = [&]() -> coro::Task<absl::Status> {
    co_await coro::Sleep(10us);
    trial.world().timeline().RunFor(20s);
    co_return absl::OkStatus();
  };
  coro::Scope stopping;
  stopping.Spawn(stop());
  const absl::Status status = co_await MoveAll(trial, hosts, 60s);
  EXPECT_EQ(status, absl::OkStatus()) << "seed " << trial.seed();
  const Engine& sender = hosts.from->engine();
  for (std::size_t nic = 0; nic < sender.nic_count(); ++nic) {
    EXPECT_TRUE(sender.nic_stats(nic).alive) << "seed " << trial.seed();
  }
  EXPECT_EQ(sender.reissued_pages(), 0u) << "seed " << trial.seed();
  co_return co_await stopping.Join();
}

// An immediate that comes more than once, for whichever reason, counts once.
FaultRule Flood() {
  FaultRule rule = FaultRule::Of(Fault::kImmediateFlood);
  rule.parameters.copies = 2;
  rule.when.every = 5;
  return rule;
}
DD_SEED_TEST(Transfer, AnnouncementsThatComeTwiceCountOnce,
             {.seeds = 10, .faults = Plan(Flood(), Legality::kAdversarial)}) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial));
  CO_RETURN_IF_ERROR(co_await MoveAll(trial, hosts));
  const ArrivalCounters& counters = hosts.to->engine().arrival_counters();
  EXPECT_EQ(counters.pages, kPages);
  EXPECT_GT(counters.duplicates + counters.refused, 0u);
  co_return absl::OkStatus();
}

// The page was written and announced, but its completion says that it failed: it goes once more,
// and counts once.
FaultRule FailsAfterAll() {
  FaultRule rule = FaultRule::Of(Fault::kUnresponsive);
  rule.parameters.placed_percent = 100;
  rule.when.operations = {OperationKind::kWrite};
  rule.when.nth = 30;
  return rule;
}
// Of a chunk of a scatter, the pages that failed go another way, and the others count as arrived.
FaultRule SomeFail() {
  FaultRule rule = FaultRule::Of(Fault::kUnresponsive);
  rule.when.operations = {OperationKind::kWrite};
  rule.when.every = 20;
  return rule;
}
DD_SEED_TEST(Transfer, BytesOfAScatterAreThoseThatArrived,
             {.seeds = 10, .faults = Plan(SomeFail())}) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial));
  std::vector<ScatterWrite> writes;
  for (std::uint32_t i = 0; i < kPages; ++i) {
    ScatterWrite& write = writes.emplace_back();
    write.target = hosts.target;
    write.source_offset = write.target_offset = i * kPage;
    write.bytes = kPage;
  }
  Engine& sender = hosts.from->engine();
  CO_RETURN_IF_ERROR(co_await sender.Scatter(hosts.source, writes, {.transfer = 1}));
  EXPECT_GT(sender.reissued_pages(), 0u) << "seed " << trial.seed();
  std::uint64_t by_us = 0;
  std::uint64_t to_them = 0;
  for (std::size_t nic = 0; nic < sender.nic_count(); ++nic) {
    EXPECT_EQ(sender.nic_stats(nic).bytes_under_way, 0u) << "seed " << trial.seed();
    by_us += sender.nic_stats(nic).bytes;
    to_them += sender.BytesTo(hosts.peer, nic);
  }
  EXPECT_EQ(by_us, kPages * kPage) << "seed " << trial.seed();
  EXPECT_EQ(to_them, kPages * kPage) << "seed " << trial.seed();
  co_return absl::OkStatus();
}

DD_SEED_TEST(Transfer, PageThatArrivedAndFailedIsCountedOnce,
             {.seeds = 10, .faults = Plan(FailsAfterAll())}) {
  CO_ASSIGN_OR_RETURN(TwoHosts hosts, co_await OpenHosts(trial));
  CO_RETURN_IF_ERROR(co_await MoveAll(trial, hosts));
  EXPECT_EQ(hosts.from->engine().reissued_pages(), 1u);
  EXPECT_EQ(hosts.to->engine().arrival_counters().pages, kPages);
  co_return absl::OkStatus();
}

// ---- Rates, in virtual time ----

constexpr std::uint32_t kManyPages = 2400;
constexpr std::uint64_t kLongPage = 16 << 10;

// All but what a NIC can have under way.
constexpr std::uint32_t kMost = kManyPages - 200;

// Nanoseconds until so many pages have arrived.
struct Times {
  double most = 0;
  double all = 0;
};

// Writes all pages. `kill`: when a quarter has arrived, this NIC of the sender dies.
Times Measure(const std::vector<double>& gbps, std::optional<std::size_t> kill = std::nullopt) {
  UnequalPair pair(gbps, {}, /*seed=*/3);
  Times times;
  auto main = [&]() -> coro::Task<absl::Status> {
    CO_ASSIGN_OR_RETURN(const MemoryRef from, pair.sender().Allocate(kManyPages * kLongPage));
    CO_ASSIGN_OR_RETURN(const MemoryRef to, pair.receiver().Allocate(kManyPages * kLongPage));
    CO_ASSIGN_OR_RETURN(const RemoteRef target, pair.sender().Import(0, to->descriptor()));
    CO_ASSIGN_OR_RETURN(const auto arrived, pair.receiver().Expect(1, kManyPages));
    PagesShape shape;
    shape.pages = kManyPages;
    shape.page_bytes = kLongPage;
    coro::Scope calls;
    const coro::Time begin = pair.loop().Now();
    const auto elapsed = [&] { return static_cast<double>((pair.loop().Now() - begin).count()); };
    calls.Spawn(pair.sender().WritePages(from, target, shape, {.transfer = 1}));
    if (kill.has_value()) {
      const bool quarter = co_await arrived->Reached(kManyPages / 4, coro::kNever);
      EXPECT_TRUE(quarter);
      pair.Kill(*kill);
    }
    const bool most = co_await arrived->Reached(kMost, coro::kNever);
    times.most = elapsed();
    const bool all = co_await arrived->Reached(kManyPages, coro::kNever);
    times.all = elapsed();
    EXPECT_TRUE(most && all);
    co_return co_await calls.Join();
  };
  EXPECT_THAT(pair.loop().Run(main()), IsOk());
  return times;
}

TEST(RateTest, NicThatIsSlowOrDeadCostsWhatItLacksAndNoMore) {
  const Times healthy = Measure({100, 100, 100, 100});
  EXPECT_GT(8.0 * kManyPages * kLongPage / healthy.all, 0.75 * 400) << "Gbit/s of four NICs";
  // 310 of 400 Gbit/s are left.
  const Times slowed = Measure({100, 100, 10, 100});
  EXPECT_GT(slowed.all, healthy.all * 400 / 310 * 0.9);
  EXPECT_LT(slowed.all, healthy.all * 400 / 310 * 1.1);
  // A quarter by four NICs, three quarters by three; but for what the fourth had under way, which
  // comes when its time-out has passed.
  const Times killed = Measure({100, 100, 100, 100}, 1);
  EXPECT_LT(killed.most, healthy.most * (0.25 + 0.75 * 4 / 3) * 1.1);
}

}  // namespace
}  // namespace drydock::fabric::async::transfer
