#include "drydock/testing/benchmarks/process_session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/libfabric/libfabric_fabric.h"
#include "drydock/fabric/memory.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/testing/benchmarks/contract_end.h"
#include "drydock/testing/benchmarks/message_end.h"
#include "drydock/testing/benchmarks/paired.h"
#include "drydock/testing/benchmarks/statistics.h"
#include "drydock/testing/benchmarks/two_threads.h"
#include "drydock/testing/benchmarks/write_path.h"
#include "drydock/testing/harness/subprocess.h"

namespace drydock::bench {
namespace {

using namespace std::chrono_literals;

// What a session is told: the provider, and whether it is only a smoke test.
constexpr const char* kVariable = "DRYDOCK_PROCESS_SESSION";

// Longer than the two processes take to begin and to end together, on a busy machine too.
constexpr coro::Duration kSlice = 40ms;
constexpr std::size_t kSamples = 3;  // of which the median is the session's
// Until threads of a provider have seen that there is nothing to do.
constexpr coro::Duration kSettling = 50ms;
constexpr coro::Duration kNap = 1s;

// The next thing to do, as the leader says it to the follower.
struct Order {
  enum class What : std::uint8_t { kRun, kCompare, kSleep, kEnd } what = What::kEnd;
  Way way{};
  std::uint64_t count = 0;
};

// Where an end is, as the other process is told.
struct Place {
  fabric::Address messages;
  fabric::Address writes;
  fabric::RemoteBuffer memory;
};

std::byte Pattern(std::size_t at) { return static_cast<std::byte>(1 + at % 251); }
bool IsPattern(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != Pattern(i)) return false;
  }
  return true;
}

// The part of a processor that this process takes while it sleeps so long.
double SleepingShare(bool smoke) {
  std::this_thread::sleep_for(smoke ? 1ms : kSettling);
  const coro::SteadyClock wall;
  const ProcessorClock processor;
  const coro::Time begun = wall.Now();
  const coro::Time worked = processor.Now();
  std::this_thread::sleep_for(smoke ? 10ms : kNap);
  return static_cast<double>((processor.Now() - worked).count()) /
         static_cast<double>((wall.Now() - begun).count());
}

// An end that lets others run when it has polled in vain for as long as no answer takes whose sender
// runs: on a machine that is busy otherwise, the sender may be waiting for this processor.
template <typename End>
class Considerate {
 public:
  explicit Considerate(End& end) : end_(end) {}

  BurstOutcome Post(const Burst& burst) { return end_.Post(burst); }
  bool Poll(Found& sent, Found& arrived) {
    const std::uint64_t before = sent.completions + arrived.completions;
    if (!end_.Poll(sent, arrived)) return false;
    if (sent.completions + arrived.completions > before) in_vain_ = 0;
    if (++in_vain_ % kPolls == 0) std::this_thread::yield();
    return true;
  }
  absl::Status error() const { return end_.error(); }

 private:
  static constexpr std::uint64_t kPolls = 256;  // some microseconds

  End& end_;
  std::uint64_t in_vain_ = 0;
};

// What each of the two processes has: an end for messages, one for writes, and the same loops.
class Member {
 public:
  static absl::StatusOr<std::unique_ptr<Member>> Open(const std::string& provider, bool leads) {
    std::unique_ptr<Member> member(new Member(leads));
    ASSIGN_OR_RETURN(member->fabric_, fabric::libfabric::OpenLibfabric(provider));
    ASSIGN_OR_RETURN(member->messages_, MessageEnd::Open(*member->fabric_, kShortBytes));
    ASSIGN_OR_RETURN(member->writes_,
                     ContractEnd::Open(*member->fabric_, member->buffers_.source(), kMemory));
    return absl::StatusOr<std::unique_ptr<Member>>(std::move(member));
  }

  absl::Status Meet(sim_testing::Talk& talk) {
    talk.Say(Place{messages_->address(), writes_->address(), writes_->memory()});
    const Place peer = talk.Hear<Place>();
    RETURN_IF_ERROR(messages_->SendTo(peer.messages));
    return writes_->WriteTo(peer.writes, peer.memory);
  }

  // This side of `count` round trips or writes.
  absl::Status Run(Way way, std::uint64_t count) {
    Considerate messages(*messages_);
    Considerate writes(*writes_);
    switch (way) {
      case Way::kMessages:
        return Bounce(messages, leads_, kShortBytes, count, over_);
      case Way::kWrites:
        return Bounce(writes, leads_, kShortBytes, count, over_);
      case Way::kLargeWrites:
        if (leads_) return Stream(writes, kLongBytes, 1, count, over_);
        return Acknowledge(writes, kLongBytes, count, over_);
      case Way::kSleep:
        break;
    }
    return absl::InternalError("nobody runs a sleep");
  }

  // What this process has of a way's bytes: sent by the leader, expected by the follower.
  std::span<const std::byte> Arrived(Way way) const {
    if (way == Way::kMessages) return messages_->incoming();
    return {buffers_.source(), way == Way::kWrites ? kShortBytes : kStreamSlots * kLongBytes};
  }

  // The leader's bytes are no zeroes.
  void Fill() {
    for (std::size_t i = 0; i < kMemory; ++i) buffers_.source()[i] = Pattern(i);
    for (std::size_t i = 0; i < kShortBytes; ++i) messages_->outgoing()[i] = Pattern(i);
  }

  // Goes on until the other process has something to say: its last requests may need this one, which
  // has seen all that arrives.
  void PollUntilNews(sim_testing::Talk& talk) {
    Tally ignored;
    while (!talk.HasNews()) {
      static_cast<void>(ignored.Poll(*messages_));
      static_cast<void>(ignored.Poll(*writes_));
    }
  }

 private:
  static constexpr std::size_t kMemory = BytesForTwoThreads(kLongBytes);

  explicit Member(bool leads) : leads_(leads) {}

  const bool leads_;
  const std::atomic<bool> over_{false};  // the other process's end is noticed by Talk
  Buffers buffers_{kMemory};
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<MessageEnd> messages_;
  std::unique_ptr<ContractEnd> writes_;
};

// What the follower does for its whole life. Its failures end the session.
void Follow(const std::string& provider, bool smoke, sim_testing::Talk& talk) {
  const auto or_die = [](const absl::Status& status) {
    if (status.ok()) return;
    std::cerr << "the other process: " << status.message() << std::endl;
    std::_Exit(1);
  };
  absl::StatusOr<std::unique_ptr<Member>> member = Member::Open(provider, /*leads=*/false);
  or_die(member.status());
  or_die((*member)->Meet(talk));
  while (true) {
    // Without a poll: what the leader sends once it has said this belongs to the order.
    const Order order = talk.Hear<Order>();
    switch (order.what) {
      case Order::What::kRun:
        or_die((*member)->Run(order.way, order.count));
        talk.Say(true);
        break;
      case Order::What::kCompare:
        talk.Say(IsPattern((*member)->Arrived(order.way)));
        break;
      case Order::What::kSleep:
        talk.Say(SleepingShare(smoke));
        break;
      case Order::What::kEnd:
        member->reset();
        talk.Say(true);
        return;
    }
  }
}

// The process that measures.
class Leader {
 public:
  Leader(Member& member, sim_testing::Talk& talk, bool smoke)
      : member_(member), talk_(talk), smoke_(smoke) {}

  absl::StatusOr<Figures> Measure() {
    member_.Fill();
    std::vector<Case> cases;
    for (const Way way : kWays) {
      if (way == Way::kSleep) continue;
      RETURN_IF_ERROR(Verify(way));
      cases.push_back({Name(way), Granule(way),
                       [this, way](std::uint64_t count) { return Together(way, count); }});
    }
    PairedOptions options{.rounds = smoke_ ? 1 : kSamples, .slice = kSlice};
    if (smoke_) options.slice = coro::Duration::zero();
    ASSIGN_OR_RETURN(const auto series, MeasurePaired(cases, options, coro::SteadyClock(), {}));
    Figures figures{};
    for (std::size_t i = 0; i < series.size(); ++i) {
      const double trips = kWays[i] == Way::kLargeWrites ? 1 : 2;
      figures[i] = Summarize(series[i].nanoseconds).median / trips / 1000;
    }
    figures.back() = Sleep();
    return figures;
  }

 private:
  static std::string Name(Way way) {
    return way == Way::kMessages ? "messages" : way == Way::kWrites ? "writes" : "large writes";
  }
  static std::uint64_t Granule(Way way) { return way == Way::kLargeWrites ? kStreamSlots : 1; }

  // In both processes, until both are done.
  absl::Status Together(Way way, std::uint64_t count) {
    talk_.Say(Order{Order::What::kRun, way, count});
    RETURN_IF_ERROR(member_.Run(way, count));
    member_.PollUntilNews(talk_);
    talk_.Hear<bool>();
    return absl::OkStatus();
  }

  // What was sent has arrived, byte for byte.
  absl::Status Verify(Way way) {
    RETURN_IF_ERROR(Together(way, Granule(way)));
    talk_.Say(Order{Order::What::kCompare, way, 0});
    if (talk_.Hear<bool>()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(Name(way), ": other bytes arrived than were sent"));
  }

  double Sleep() {
    talk_.Say(Order{Order::What::kSleep, Way::kSleep, 0});
    const double mine = SleepingShare(smoke_);
    return std::max(mine, talk_.Hear<double>());
  }

  Member& member_;
  sim_testing::Talk& talk_;
  const bool smoke_;
};

absl::StatusOr<Figures> Lead(const std::string& provider, bool smoke) {
  sim_testing::ChildProcess follower(
      [&](sim_testing::Talk& talk) { Follow(provider, smoke, talk); });
  ASSIGN_OR_RETURN(std::unique_ptr<Member> member, Member::Open(provider, /*leads=*/true));
  RETURN_IF_ERROR(member->Meet(follower.talk()));
  ASSIGN_OR_RETURN(const Figures figures, Leader(*member, follower.talk(), smoke).Measure());
  follower.talk().Say(Order{});
  follower.talk().Hear<bool>();
  if (follower.Wait() != 0) return absl::InternalError("the other process failed at its end");
  return figures;
}

}  // namespace

absl::StatusOr<Figures> RunSession(const std::string& provider,
                                   const std::vector<std::string>& launcher, bool smoke) {
  std::vector<std::string> command = launcher;
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  ASSIGN_OR_RETURN(
      const harness::ProcessEnd end,
      harness::Subprocess::Run(
          command, {.environment = {{kVariable, absl::StrCat(provider, " ", smoke ? 1 : 0)}}}));
  if (end.exit_code != 0) {
    // The last line: a provider may have said something before.
    const std::vector<std::string> lines = absl::StrSplit(end.err, '\n', absl::SkipEmpty());
    return absl::InternalError(absl::StrCat(
        provider, ": ",
        lines.empty() ? absl::StrCat("a session ended by signal ", end.signal) : lines.back()));
  }
  Figures figures{};
  std::istringstream words(end.out);
  for (double& figure : figures) words >> figure;
  if (!words) return absl::InternalError(absl::StrCat(provider, ": a session said ", end.out));
  return figures;
}

std::optional<int> SessionMain() {
  const char* const told = std::getenv(kVariable);
  if (told == nullptr) return std::nullopt;
  std::istringstream words(told);
  std::string provider;
  bool smoke = false;
  words >> provider >> smoke;
  if (!words) {
    std::cerr << kVariable << "=" << told << " is not what a session is told\n";
    return 2;
  }
  const absl::StatusOr<Figures> figures = Lead(provider, smoke);
  if (!figures.ok()) {
    std::cerr << figures.status().message() << '\n';
    return 1;
  }
  for (const double figure : *figures) std::cout << figure << '\n';
  return 0;
}

}  // namespace drydock::bench
