// Ranks that meet: all of them, or none of them and a line that says why.

#include "drydock/apps/common/ranks/ranks.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/ranks/launch.h"
#include "drydock/apps/common/ranks/launched_ranks.h"
#include "drydock/apps/common/ranks/local_ranks.h"
#include "drydock/apps/common/ranks/tcp_ranks.h"
#include "drydock/coro/descriptor.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/coro/tcp.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> BytesOf(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

coro::Time Soon(coro::Duration patience = 20s) {
  return coro::After(coro::EventLoop::Current().Now(), patience);
}

// Each gives its rank twice, and gets those of all.
coro::Task<absl::Status> SayTwice(Ranks& ranks) {
  for (const char* round : {"first", "second"}) {
    const coro::Time deadline = Soon();
    std::vector<std::byte> mine = BytesOf(absl::StrCat(round, " ", ranks.rank()));
    CO_ASSIGN_OR_RETURN(const Gathered all, co_await ranks.AllGather(std::move(mine), deadline));
    EXPECT_EQ(all.size(), ranks.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i], BytesOf(absl::StrCat(round, " ", i)));
    }
  }
  co_return absl::OkStatus();
}

class RanksTest : public ::testing::Test {
 protected:
  RanksTest() : loop_(clock_), io_(coro::EpollSelector::Open(loop_).value()) {}

  TcpHost Host(std::size_t ranks) {
    return TcpHost::Listen(*io_, coro::TcpAddress::Loopback(0), ranks).value();
  }
  // One process's whole part.
  static coro::Task<absl::Status> PlayHost(TcpHost& host) {
    const coro::Time deadline = Soon();
    CO_ASSIGN_OR_RETURN(const std::unique_ptr<Ranks> ranks, co_await host.Meet(deadline));
    co_return co_await SayTwice(*ranks);
  }
  coro::Task<absl::Status> PlayGuest(coro::TcpAddress at, std::size_t rank, coro::Duration late) {
    co_await coro::Sleep(late);
    const coro::Time deadline = Soon();
    CO_ASSIGN_OR_RETURN(const std::unique_ptr<Ranks> ranks,
                        co_await MeetAt(*io_, at, rank, deadline));
    EXPECT_TRUE(rank == kAnyRank || ranks->rank() == rank);
    co_return co_await SayTwice(*ranks);
  }
  coro::Task<absl::Status> PlayAll(TcpHost& host, std::vector<std::size_t> guests) {
    coro::Scope all;
    all.Spawn(PlayHost(host));
    coro::Duration late = 0ms;
    for (const std::size_t rank : guests) {
      all.Spawn(PlayGuest(host.address(), rank, late));
      late += 5ms;
    }
    co_return co_await all.Join();
  }

  coro::SteadyClock clock_;
  coro::EventLoop loop_;
  std::unique_ptr<coro::EpollSelector> io_;
};

TEST_F(RanksTest, InOneProcess) {
  const auto ranks = MakeLocalRanks(5);
  const auto play = [&ranks]() -> coro::Task<absl::Status> {
    coro::Scope all;
    for (const auto& rank : ranks) all.Spawn(SayTwice(*rank));
    co_return co_await all.Join();
  };
  EXPECT_THAT(loop_.Run(play()), IsOk());
}

TEST_F(RanksTest, OneThatDoesNotComeIsMissed) {
  const auto ranks = MakeLocalRanks(3);
  const auto play = [&ranks]() -> coro::Task<absl::Status> {
    const coro::Time deadline = Soon(1ms);
    const absl::StatusOr<Gathered> all = co_await ranks[0]->AllGather({}, deadline);
    co_return all.status();
  };
  EXPECT_THAT(loop_.Run(play()),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("1 of 3 came in time")));
}

TEST_F(RanksTest, OneThatCannotGoOnEndsAll) {
  const auto ranks = MakeLocalRanks(3);
  std::vector<absl::Status> ends(3);
  const auto say = [&](std::size_t rank,
                       absl::StatusOr<std::string> text) -> coro::Task<absl::Status> {
    const coro::Time never = coro::kNever;
    const auto all = co_await ranks[rank]->AllGatherText(std::move(text), never);
    ends[rank] = all.status();
    co_return absl::OkStatus();
  };
  const auto play = [&]() -> coro::Task<absl::Status> {
    coro::Scope all;
    all.Spawn(say(0, "here"));
    all.Spawn(say(1, absl::NotFoundError("no NIC")));
    all.Spawn(say(2, "here"));
    co_return co_await all.Join();
  };
  EXPECT_THAT(loop_.Run(play()), IsOk());
  EXPECT_EQ(ends[1], absl::NotFoundError("no NIC"));
  for (const std::size_t other : {0, 2}) {
    EXPECT_EQ(ends[other], absl::UnavailableError("rank 1 cannot go on: no NIC"));
  }
}

TEST_F(RanksTest, ByTcpSomeKnowTheirRank) {
  TcpHost host = Host(4);
  EXPECT_THAT(loop_.Run(PlayAll(host, {kAnyRank, 1, kAnyRank})), IsOk());
}

TEST_F(RanksTest, AloneByTcp) {
  TcpHost host = Host(1);
  EXPECT_THAT(loop_.Run(PlayAll(host, {})), IsOk());
}

TEST_F(RanksTest, MoreThanCanMeetAreRefusedBeforeAnybodyWaits) {
  for (const std::size_t ranks : {std::size_t{0}, kMostTcpRanks + 1}) {
    EXPECT_THAT(TcpHost::Listen(*io_, coro::TcpAddress::Loopback(0), ranks),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("between 1 and 4096")));
  }
}

TEST_F(RanksTest, TwoOfOneRankAreRefused) {
  TcpHost host = Host(4);
  EXPECT_THAT(loop_.Run(PlayAll(host, {2, 2})), StatusIs(absl::StatusCode::kInvalidArgument,
                                                         HasSubstr("rank 2, and another one is")));
}

TEST_F(RanksTest, ARankThatThereIsNotIsRefused) {
  TcpHost host = Host(3);
  EXPECT_THAT(loop_.Run(PlayAll(host, {3})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 3; there are 3")));
}

// A stranger's connection is closed and forgotten: the ranks meet beside it.
TEST_F(RanksTest, StrangersAreSkipped) {
  TcpHost host = Host(2);
  const auto stranger = [this](std::string says, coro::TcpAddress at) -> coro::Task<absl::Status> {
    const coro::Time deadline = Soon();
    CO_ASSIGN_OR_RETURN(const coro::Descriptor to, co_await coro::Connect(*io_, at, deadline));
    const std::vector<std::byte> bytes = BytesOf(says);
    CO_RETURN_IF_ERROR(co_await coro::WriteAll(to, bytes, deadline));
    std::vector<std::byte> answer(1);
    const absl::StatusOr<std::size_t> end = co_await coro::Read(to, answer, deadline);
    EXPECT_FALSE(end.ok() && *end > 0);
    co_return absl::OkStatus();
  };
  const auto play = [&]() -> coro::Task<absl::Status> {
    coro::Scope all;
    all.Spawn(PlayHost(host));
    all.Spawn(stranger("GET / HTTP/1.1\r\n\r\n", host.address()));
    all.Spawn(stranger(std::string("\x10\0\0\0nobody's greeting", 20), host.address()));
    all.Spawn(PlayGuest(host.address(), kAnyRank, 30ms));
    co_return co_await all.Join();
  };
  EXPECT_THAT(loop_.Run(play()), IsOk());
}

// A stranger that says nothing holds no rank up: the ranks have met before it is given up.
TEST_F(RanksTest, SilentStrangersHoldNobodyUp) {
  TcpHost host = Host(2);
  const auto play = [&]() -> coro::Task<absl::Status> {
    std::vector<coro::Descriptor> silent;
    for (int i = 0; i < 3; ++i) {
      const coro::Time deadline = Soon();
      CO_ASSIGN_OR_RETURN(silent.emplace_back(),
                          co_await coro::Connect(*io_, host.address(), deadline));
    }
    const coro::Time began = coro::EventLoop::Current().Now();
    coro::Scope all;
    all.Spawn(PlayHost(host));
    all.Spawn(PlayGuest(host.address(), kAnyRank, 30ms));
    CO_RETURN_IF_ERROR(co_await all.Join());
    EXPECT_LT(coro::EventLoop::Current().Now() - began, 4s) << "a stranger is given up after 5 s";
    co_return absl::OkStatus();
  };
  EXPECT_THAT(loop_.Run(play()), IsOk());
}

// Descriptors that the process may have, as long as this lives: so many more than it has.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int more) {
    const int next = dup(0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{.rlim_cur = static_cast<rlim_t>(next + more), .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Strangers that have every descriptor do not end the meeting: rank 0 waits until they go.
TEST_F(RanksTest, MoreStrangersThanDescriptors) {
  TcpHost host = Host(2);
  std::vector<coro::Descriptor> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(loop_.Run(coro::Connect(*io_, host.address())).value());
  }
  const auto meet = [&]() -> coro::Task<absl::Status> {
    const coro::Time deadline = Soon();
    const absl::StatusOr<std::unique_ptr<Ranks>> ranks =
        co_await MeetAt(*io_, host.address(), kAnyRank, deadline);
    co_return ranks.status();
  };
  const auto some_go = [&]() -> coro::Task<absl::Status> {
    co_await coro::Sleep(200ms);
    silent.clear();
    co_return absl::OkStatus();
  };
  const auto play = [&]() -> coro::Task<absl::Status> {
    coro::Scope guests;
    guests.Spawn(meet());  // has its descriptor, and is behind all of them
    const DescriptorLimit limit(4);
    guests.Spawn(some_go());
    const coro::Time deadline = Soon();
    const absl::StatusOr<std::unique_ptr<Ranks>> ranks = co_await host.Meet(deadline);
    EXPECT_TRUE(silent.empty()) << "they were not in the way";
    CO_RETURN_IF_ERROR(ranks.status());
    co_return co_await guests.Join();
  };
  EXPECT_THAT(loop_.Run(play()), IsOk());
}

// Rank 0 does not wait any longer: the ranks that came are told so, and not that it is no rank 0.
TEST_F(RanksTest, GuestsHearThatRankZeroHasEnded) {
  const auto play = [this]() -> coro::Task<absl::Status> {
    std::optional<TcpHost> host(Host(3));
    coro::Scope guests;
    guests.Spawn(PlayGuest(host->address(), kAnyRank, 0ms));
    const coro::Time soon = Soon(1s);  // the other one is to come before, on any machine
    const absl::StatusOr<std::unique_ptr<Ranks>> alone = co_await host->Meet(soon);
    EXPECT_THAT(alone, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("2 of 3 ranks")));
    host.reset();
    co_return co_await guests.Join();
  };
  EXPECT_THAT(loop_.Run(play()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 0 ended before all")));
}

TEST_F(RanksTest, AfterAnErrorTheyAreApart) {
  const auto ranks = MakeLocalRanks(2);
  const auto play = [&]() -> coro::Task<absl::Status> {
    const coro::Time past = Soon(1ms);
    const absl::StatusOr<Gathered> alone = co_await ranks[0]->AllGather({}, past);
    EXPECT_THAT(alone, StatusIs(absl::StatusCode::kDeadlineExceeded));
    const coro::Time never = coro::kNever;
    const absl::StatusOr<Gathered> again = co_await ranks[0]->AllGather({}, never);
    co_return again.status();
  };
  EXPECT_THAT(loop_.Run(play()), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(RanksTest, WhoeverIsNotThereInTime) {
  TcpHost host = Host(3);
  const auto alone = [&]() -> coro::Task<absl::Status> {
    const coro::Time deadline = Soon(1ms);
    const absl::StatusOr<std::unique_ptr<Ranks>> ranks = co_await host.Meet(deadline);
    co_return ranks.status();
  };
  EXPECT_THAT(loop_.Run(alone()),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("1 of 3 ranks came")));
  const auto nowhere = [&]() -> coro::Task<absl::Status> {
    const coro::Time deadline = Soon(80ms);
    const absl::StatusOr<std::unique_ptr<Ranks>> ranks =
        co_await MeetAt(*io_, coro::TcpAddress::Loopback(1), kAnyRank, deadline);
    co_return ranks.status();
  };
  EXPECT_THAT(loop_.Run(nowhere()), StatusIs(absl::StatusCode::kUnavailable,
                                             HasSubstr("meet at 127.0.0.1:1: nobody listened")));
}

// One that ends while it waits for the others counts no more, whether it said its rank or not:
// whoever is started again takes its place.
TEST_F(RanksTest, OneThatEndsBeforeAllHaveComeIsWaitedForAgain) {
  TcpHost host = Host(3);
  const auto greet = [this](std::uint64_t rank,
                            coro::TcpAddress at) -> coro::Task<absl::StatusOr<coro::Descriptor>> {
    const coro::Time deadline = Soon();
    CO_ASSIGN_OR_RETURN(coro::Descriptor to, co_await coro::Connect(*io_, at, deadline));
    std::string greeting("\x10\0\0\0DDranks1", 12);
    greeting.append(reinterpret_cast<const char*>(&rank), sizeof(rank));
    const std::vector<std::byte> bytes = BytesOf(greeting);
    CO_RETURN_IF_ERROR(co_await coro::WriteAll(to, bytes, deadline));
    co_return to;
  };
  const auto play = [&]() -> coro::Task<absl::Status> {
    coro::Scope all;
    all.Spawn(PlayHost(host));
    for (const std::uint64_t rank : {std::uint64_t{1}, std::uint64_t{kAnyRank}}) {
      const coro::TcpAddress at = host.address();
      CO_ASSIGN_OR_RETURN(coro::Descriptor guest, co_await greet(rank, at));
      co_await coro::Sleep(20ms);
      guest.Close();
      co_await coro::Sleep(20ms);
    }
    all.Spawn(PlayGuest(host.address(), 1, 0ms));
    all.Spawn(PlayGuest(host.address(), kAnyRank, 0ms));
    co_return co_await all.Join();
  };
  EXPECT_THAT(loop_.Run(play()), IsOk());
}

// A rank whose process ends is told of, by its number.
TEST_F(RanksTest, OneThatDies) {
  TcpHost host = Host(2);
  const auto die = [this](coro::TcpAddress at) -> coro::Task<absl::Status> {
    const coro::Time deadline = Soon();
    const absl::StatusOr<std::unique_ptr<Ranks>> ranks =
        co_await MeetAt(*io_, at, kAnyRank, deadline);
    co_return ranks.status();
  };
  const auto play = [&]() -> coro::Task<absl::Status> {
    coro::Scope guests;
    guests.Spawn(die(host.address()));
    const absl::Status status = co_await PlayHost(host);
    CO_RETURN_IF_ERROR(co_await guests.Join());
    co_return status;
  };
  EXPECT_THAT(loop_.Run(play()), StatusIs(absl::StatusCode::kUnavailable, "rank 1 is gone"));
}

// ---- A launcher's environment ----

using Variables = std::map<std::string, std::string>;

std::optional<Launch> FindIn(const Variables& variables) {
  return FindLaunch([&variables](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

TEST(LaunchTest, BySlurm) {
  const std::optional<Launch> launch = FindIn(
      {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"PMIX_NAMESPACE", "slurm.pmix.1.0"}});
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(launch->launcher, "srun");
  EXPECT_EQ(launch->rank, 3u);
  EXPECT_EQ(launch->size, 8u);
  EXPECT_TRUE(launch->has_pmix);
}

// mpirun started a daemon by srun, on each of two machines, and that started this.
TEST(LaunchTest, ByOpenMpiInAJobOfSlurm) {
  const std::optional<Launch> launch = FindIn({{"SLURM_PROCID", "1"},
                                               {"SLURM_STEP_NUM_TASKS", "2"},
                                               {"OMPI_COMM_WORLD_RANK", "5"},
                                               {"OMPI_COMM_WORLD_SIZE", "6"}});
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(launch->launcher, "mpirun");
  EXPECT_EQ(launch->rank, 5u);
  EXPECT_EQ(launch->size, 6u);
  // As many ranks as daemons, one on each machine.
  const std::optional<Launch> alike = FindIn({{"SLURM_PROCID", "1"},
                                              {"SLURM_STEP_NUM_TASKS", "2"},
                                              {"OMPI_COMM_WORLD_RANK", "1"},
                                              {"OMPI_COMM_WORLD_SIZE", "2"}});
  ASSERT_TRUE(alike.has_value());
  EXPECT_EQ(alike->launcher, "mpirun");
}

TEST(LaunchTest, ByMpich) {
  const Variables mpich = {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}};
  const std::optional<Launch> launch = FindIn(mpich);
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(launch->launcher, "mpiexec");
  EXPECT_EQ(launch->rank, 5u);
  EXPECT_EQ(launch->size, 8u);
  EXPECT_THAT(JoinLaunch(*launch), StatusIs(absl::StatusCode::kUnimplemented,
                                            HasSubstr("8 ranks without PMIx, as MPICH and Intel")));
  // Its daemon, one on each machine of a job of Slurm, was started by srun.
  Variables in_slurm = mpich;
  in_slurm.insert(
      {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_NAMESPACE", "slurm.pmix.1.0"}});
  ASSERT_TRUE(FindIn(in_slurm).has_value());
  EXPECT_EQ(FindIn(in_slurm)->launcher, "mpiexec");
  EXPECT_EQ(FindIn(in_slurm)->rank, 5u);
  EXPECT_FALSE(FindIn(in_slurm)->has_pmix) << "that is the daemon's";
}

TEST(LaunchTest, BySlurmWithTheVariablesOfMpich) {
  const std::optional<Launch> launch = FindIn(
      {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(launch->launcher, "srun");
}

TEST(LaunchTest, NoLauncher) {
  EXPECT_FALSE(FindIn({}).has_value());
  // A batch script is no rank.
  EXPECT_FALSE(FindIn({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).has_value());
  // Values that make no sense are not believed.
  EXPECT_FALSE(FindIn({{"SLURM_PROCID", "8"}, {"SLURM_STEP_NUM_TASKS", "8"}}).has_value());
  EXPECT_FALSE(FindIn({{"SLURM_PROCID", "-1"}, {"SLURM_STEP_NUM_TASKS", "8"}}).has_value());
  EXPECT_FALSE(FindIn({{"SLURM_PROCID", "one"}, {"SLURM_STEP_NUM_TASKS", "8"}}).has_value());
}

TEST(LaunchTest, OneRankIsNoLaunch) {
  EXPECT_FALSE(FindIn({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}).has_value());
  // Nor is it one of the launcher that started its launcher.
  EXPECT_FALSE(FindIn({{"SLURM_PROCID", "1"},
                       {"SLURM_STEP_NUM_TASKS", "2"},
                       {"OMPI_COMM_WORLD_RANK", "0"},
                       {"OMPI_COMM_WORLD_SIZE", "1"}})
                   .has_value());
}

// One of two ranks, whose other one gives some bytes, or never comes.
class LaunchedRank final : public Ranks {
 public:
  explicit LaunchedRank(std::optional<std::string> other) : Ranks(0, 2), other_(std::move(other)) {}

  const std::vector<std::vector<std::byte>>& given() const { return given_; }

 private:
  coro::Task<absl::StatusOr<Gathered>> Gather(std::vector<std::byte> mine,
                                              coro::Time deadline) override {
    given_.push_back(mine);
    if (!other_.has_value()) {
      co_await coro::SleepUntil(deadline);
      co_return absl::DeadlineExceededError("some did not come in time");
    }
    Gathered all(2);
    all[0] = std::move(mine);
    all[1] = BytesOf(*other_);
    co_return all;
  }

  const std::optional<std::string> other_;
  std::vector<std::vector<std::byte>> given_;
};

TEST(LaunchTest, TextIsGatheredWithoutALoop) {
  LaunchedRank ranks("\1other");
  EXPECT_THAT(GatherText(ranks, "mine", 1h), IsOkAndHolds(ElementsAre("mine", "other")));
}

TEST(LaunchTest, GatheringEndsInTime) {
  LaunchedRank ranks(std::nullopt);
  EXPECT_THAT(GatherText(ranks, "mine", 10ms), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(LaunchTest, WhatIsNoTextIsRefused) {
  for (const char* other : {"", "other"}) {
    LaunchedRank ranks(other);
    EXPECT_THAT(GatherText(ranks, "mine", 1h),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 1: it gave no text")));
  }
}

// Another process wrote it: it steers no terminal, and fills no screen.
TEST(LaunchTest, AnotherRanksErrorIsOneLine) {
  LaunchedRank ranks("\2no\nNIC \x1b[2J" + std::string(10000, 'x'));
  const absl::Status error = GatherText(ranks, "mine", 1h).status();
  EXPECT_THAT(error.message(), HasSubstr("rank 1 cannot go on: no?NIC ?[2Jxxx"));
  EXPECT_LT(error.message().size(), 600u);
}

TEST(LaunchTest, ARankThatGivesUpTellsOthersThatWaitForIt) {
  const absl::Status why = absl::NotFoundError("no NIC");
  LaunchedRank waited_for("\1other");
  EXPECT_EQ(GiveUp(waited_for, why, 1h), why);
  EXPECT_THAT(waited_for.given(), ElementsAre(BytesOf("\2no NIC")));
  LaunchedRank met("\1other");
  EXPECT_THAT(GatherText(met, "mine", 1h), IsOk());
  EXPECT_EQ(GiveUp(met, why, 1h), why);
  EXPECT_EQ(met.given().size(), 1u) << "nobody waits for it any more";
  LaunchedRank alone(std::nullopt);
  EXPECT_EQ(GiveUp(alone, why, 10ms), why) << "what it has failed with is the news";
}

TEST(LaunchTest, WithoutPmixOneLineSaysWhatToDo) {
  const std::optional<Launch> launch =
      FindIn({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  ASSERT_TRUE(launch.has_value());
  EXPECT_THAT(JoinLaunch(*launch),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("add --mpi=pmix to srun")));
}

}  // namespace
}  // namespace drydock::apps
