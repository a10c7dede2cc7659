// The explorer: the verdicts on seeds that crash, never end or differ, and that nothing depends on
// how many workers there are.

#include "drydock/sim/explore/explorer.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <vector>

#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/seed_record.h"
#include "drydock/sim/explore/testing/test_scenarios.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using fabric::faults::Fault;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// A counter that worker processes and this one share.
class SharedCounter {
 public:
  SharedCounter() {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    count_ = new (memory) std::atomic<int>(0);
  }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  ~SharedCounter() { munmap(count_, kBytes); }

  int Next() { return ++*count_; }
  void Set(int count) { *count_ = count; }
  int count() const { return *count_; }

 private:
  static constexpr std::size_t kBytes = 4096;
  std::atomic<int>* count_;
};

ExploreOptions Options(std::uint64_t seeds, std::uint64_t jobs = 1) {
  ExploreOptions options;
  options.seeds = seeds;
  options.jobs = jobs;
  options.plans = NoFaults();
  return options;
}

Outcome Fine(Trial&) { return Outcome::Of(absl::OkStatus()); }

TEST(ExplorerTest, EverySeedIsRunOnce) {
  for (const std::uint64_t jobs : {1, 3}) {
    SharedCounter runs;
    const TestScenario scenario([&](Trial& trial) {
      runs.Next();
      return Fine(trial);
    });
    ExploreOptions options = Options(1000, jobs);
    options.twice_every = 0;
    options.first_seed = 5;
    ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(scenario, options));
    EXPECT_EQ(runs.count(), 1000);
    EXPECT_EQ(report.seeds, 1000u);
    EXPECT_EQ(report.count(Verdict::kCorrect), 1000u);
    EXPECT_EQ(report.failed(), 0u);
    EXPECT_EQ(report.first.at(Verdict::kCorrect).seed, 5u);
  }
}

TEST(ExplorerTest, AShareOfTheSeedsIsRunTwice) {
  SharedCounter runs;
  const TestScenario scenario([&](Trial& trial) {
    runs.Next();
    return Fine(trial);
  });
  ExploreOptions options = Options(1000);
  options.twice_every = 10;
  ASSERT_THAT(Explore(scenario, options).status(), IsOk());
  EXPECT_EQ(runs.count(), 1100);
}

TEST(ExplorerTest, CrashIsAVerdictWithItsSeedAndTheOtherSeedsGoOn) {
  const TestScenario scenario([](Trial& trial) {
    if (trial.seed() == 17 || trial.seed() == 40) raise(SIGKILL);
    if (trial.seed() == 18) _exit(3);
    return Fine(trial);
  });
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(scenario, Options(40, 2)));
  EXPECT_EQ(report.seeds, 40u);
  EXPECT_EQ(report.count(Verdict::kCorrect), 37u);
  EXPECT_EQ(report.count(Verdict::kCrash), 3u);
  EXPECT_THAT(report.failures,
              ElementsAre(Pair(17, Field(&SeedResult::text, HasSubstr("ended by signal 9 ("))),
                          Pair(18, Field(&SeedResult::text, "ended its process with status 3")),
                          Pair(40, Field(&SeedResult::text, HasSubstr("ended by signal 9 (")))));
}

TEST(ExplorerTest, CrashThatComesOnlyOnceIsNondeterministic) {
  SharedCounter runs;
  const TestScenario scenario([&](Trial& trial) {
    if (trial.seed() == 3 && runs.Next() == 1) raise(SIGKILL);
    return Fine(trial);
  });
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(scenario, Options(5)));
  EXPECT_EQ(report.seeds, 5u);
  EXPECT_EQ(report.count(Verdict::kNondeterministic), 1u);
  EXPECT_THAT(report.failures.at(3).text,
              AllOf(HasSubstr("two runs differ: crash"), HasSubstr("; correct")));
}

// The simulator reports it, long before the explorer's patience ends.
TEST(ExplorerTest, SeedThatPollsForEverIsAHangAndTheOtherSeedsGoOn) {
  const TestScenario scenario([](Trial& trial) {
    const auto fabric = *trial.OpenMachine("a");
    const auto domain = *fabric->OpenDomain(0);
    const auto queue = *domain->OpenCompletionQueue({});
    const bool for_ever = trial.seed() == 3 || trial.seed() == 20;
    fabric::Completion completion;
    while (for_ever && queue->Read({&completion, 1}).count == 0) {
    }
    return Fine(trial);
  });
  for (const std::uint64_t jobs : {1, 3}) {
    ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(scenario, Options(20, jobs)));
    EXPECT_EQ(report.seeds, 20u);
    EXPECT_EQ(report.count(Verdict::kCorrect), 18u);
    EXPECT_EQ(report.count(Verdict::kHang), 2u);
    EXPECT_THAT(report.failures.at(3).text, HasSubstr("and the program polls for ever: nobody"));
    EXPECT_THAT(report.failures.at(20).waits, HasSubstr("who waits for whom"));
  }
}

TEST(ExplorerTest, SeedThatNeverWaitsIsAHangAndTheOtherSeedsGoOn) {
  const TestScenario scenario([](Trial& trial) {
    while (trial.seed() == 3) usleep(1000);
    return Fine(trial);
  });
  ExploreOptions options = Options(6);
  options.patience = 5s;  // longer than a process waits for a processor
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(scenario, options));
  EXPECT_EQ(report.count(Verdict::kCorrect), 5u);
  EXPECT_EQ(report.count(Verdict::kHang), 1u);
  EXPECT_EQ(report.failures.at(3).text, "the program runs on without ever waiting");
}

// As by Ctrl-Z and fg. All of it is in a group of its own, but the process that continues it.
TEST(ExplorerTest, TimeInWhichAllAreStoppedIsNoSilence) {
  const pid_t explorer = fork();
  ASSERT_GE(explorer, 0);
  if (explorer == 0) {
    setpgid(0, 0);
    const TestScenario scenario([group = getpid()](Trial& trial) {
      if (trial.seed() != 2) return Fine(trial);
      const pid_t waker = fork();
      if (waker == 0) {
        setpgid(0, 0);
        usleep(6'000'000);
        // As long as they are there: this may come before the stop, where that had no processor.
        while (kill(-group, SIGCONT) == 0) usleep(100'000);
        _exit(0);
      }
      setpgid(waker, waker);
      kill(-group, SIGSTOP);
      return Fine(trial);
    });
    ExploreOptions options = Options(4);
    options.patience = 5s;
    const absl::StatusOr<ExploreReport> report = Explore(scenario, options);
    _exit(report.ok() && report->count(Verdict::kCorrect) == 4 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(explorer, &status, 0), explorer);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ExplorerTest, WorkersEndWithTheProcessThatStartedThem) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // it is told of the end of what the explorer leaves
  SharedCounter worker;
  const pid_t explorer = fork();
  ASSERT_GE(explorer, 0);
  if (explorer == 0) {
    const TestScenario scenario([&, parent = getpid()](Trial& trial) {
      worker.Set(getpid());
      alarm(60);  // for an explorer that leaves it
      kill(parent, SIGKILL);
      for (;;) pause();
      return Fine(trial);
    });
    Explore(scenario, Options(1)).IgnoreError();
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(explorer, &status, 0), explorer);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  ASSERT_EQ(waitpid(worker.count(), &status, 0), worker.count());
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// The process that it leaves behind holds the worker's pipe open.
TEST(ExplorerTest, WorkerThatHasToldEverythingIsNeverAHang) {
  SharedCounter left;
  const TestScenario scenario([&](Trial& trial) {
    if (trial.seed() != 3) return Fine(trial);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      for (;;) pause();
    }
    left.Set(child);
    return Fine(trial);
  });
  ExploreOptions options = Options(3);
  options.patience = 5s;
  const absl::StatusOr<ExploreReport> explored = Explore(scenario, options);
  if (left.count() > 0) kill(left.count(), SIGKILL);
  ASSERT_THAT(explored, IsOk());
  const ExploreReport& report = *explored;
  EXPECT_EQ(report.seeds, 3u);
  EXPECT_EQ(report.count(Verdict::kCorrect), 3u);
}

TEST(ExplorerTest, NondeterministicSeedIsReported) {
  SharedCounter runs;
  const TestScenario scenario([&](Trial& trial) {
    if (trial.seed() == 20)
      trial.world().timeline().WakeAt(Timeline::kStart + std::chrono::microseconds(runs.Next()));
    trial.world().timeline().RunFor(1ms);
    return Fine(trial);
  });
  ExploreOptions options = Options(30);
  options.twice_every = 10;
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(scenario, options));
  EXPECT_THAT(report.failures,
              ElementsAre(Pair(20, Field(&SeedResult::verdict, Verdict::kNondeterministic))));
}

// Every third seed is wrong, under rules that fire now and then.
TEST(ExplorerTest, ReportDoesNotDependOnTheNumberOfWorkers) {
  const TestScenario scenario([](Trial& trial) {
    const absl::Status opened = trial.OpenMachine("a").value()->OpenDomain(0).status();
    if (trial.seed() % 3 == 0) return Outcome::WrongData("third");
    return Outcome::Of(opened);
  });
  ExploreOptions options = Options(300);
  options.plans = Swarm();
  std::vector<ExploreReport> reports;
  for (const std::uint64_t jobs : {1, 2, 4}) {
    options.jobs = jobs;
    ASSERT_OK_AND_ASSIGN(ExploreReport report, Explore(scenario, options));
    reports.push_back(std::move(report));
  }
  EXPECT_THAT(reports, Each(reports[0]));
  EXPECT_EQ(reports[0].count(Verdict::kWrongData), 100u);
  EXPECT_THAT(reports[0].failures, SizeIs(ExploreReport::kMostFailures));
  EXPECT_EQ(reports[0].failures.begin()->first, 3u);
  EXPECT_EQ(reports[0].failures.rbegin()->first, 30u);
  EXPECT_GT(reports[0].count(Verdict::kCleanError), 0u);
  EXPECT_GT(reports[0].rules.at("open_domain_fails").fired_seeds, 0u);
}

TEST(ExplorerTest, ProgressRisesToTheEnd) {
  std::vector<std::uint64_t> seen = {0};
  ExploreOptions options = Options(500, 2);
  options.progress = [&](std::uint64_t done) {
    EXPECT_GE(done, seen.back());
    seen.push_back(done);
  };
  ASSERT_THAT(Explore(TestScenario(&Fine), options).status(), IsOk());
  EXPECT_EQ(seen.back(), 500u);
}

TEST(ExplorerTest, OptionsThatMakeNoSenseAreRefused) {
  const TestScenario scenario(&Fine);
  EXPECT_THAT(Explore(scenario, Options(0)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no seeds")));
  EXPECT_THAT(Explore(scenario, Options(1, 0)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 jobs")));
  ExploreOptions options = Options(2);
  options.first_seed = UINT64_MAX;
  EXPECT_THAT(Explore(scenario, options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("there are no 2 seeds")));
}

TEST(ExplorerTest, TheLastSeedOfAllCanBeRun) {
  ExploreOptions options = Options(3);
  options.first_seed = UINT64_MAX - 2;
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(TestScenario(&Fine), options));
  EXPECT_EQ(report.count(Verdict::kCorrect), 3u);
}

// What is not run yet takes no memory.
TEST(ExplorerTest, ThereMayBeMoreSeedsThanRoomForThem) {
  ExploreOptions options = Options(10'000'000'000, 2);
  options.ended = [](const SeedResult&) { _exit(0); };
  EXPECT_EXIT(Explore(TestScenario(&Fine), options).IgnoreError(), ::testing::ExitedWithCode(0),
              "");
}

TEST(ExplorerTest, RuleThatNeverFiredIsTold) {
  FaultPlan plan;
  plan.rules.push_back(FaultRule::Of(Fault::kOpenDomainFails, "domain"));
  plan.rules[0].when.nth = 2;
  const auto open = [](int times) {
    return [times](Trial& trial) {
      auto machine = trial.OpenMachine("a").value();
      for (int i = 0; i < times; ++i) machine->OpenDomain(0).status().IgnoreError();
      return Outcome::Of(absl::OkStatus());
    };
  };
  ExploreOptions options = Options(10);
  options.plans = SamePlan("domain", plan);
  ASSERT_OK_AND_ASSIGN(const ExploreReport once, Explore(TestScenario(open(1)), options));
  EXPECT_THAT(VerifyRules(once, plan),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "rule 1 (domain) fired 0 times at most in one of 10 seeds, expected at "
                       "least 1"));
  ASSERT_OK_AND_ASSIGN(const ExploreReport twice, Explore(TestScenario(open(2)), options));
  EXPECT_THAT(VerifyRules(twice, plan), IsOk());
  EXPECT_EQ(twice.rules.at("domain"), (RuleTotal{10, 10, 20, 10, 1}));
}

TEST(SeedRecordTest, ComesOutAsItWentInHoweverItIsCut) {
  SeedResult result;
  result.seed = 42;
  result.verdict = Verdict::kFinding;
  result.text = "one line";
  result.digest = {1, 2};
  result.events = 3;
  result.rules = {{"a", 4, 5}, {"", 0, 0}};
  result.waits = "two\nlines\n";
  std::string bytes;
  AppendRecord(bytes, SeedResult());
  const std::size_t first_bytes = bytes.size();
  AppendRecord(bytes, result);
  std::string_view rest = bytes;
  EXPECT_EQ(TakeRecord(rest), SeedResult());
  EXPECT_EQ(rest.size(), bytes.size() - first_bytes);
  EXPECT_EQ(TakeRecord(rest), result);
  EXPECT_THAT(rest, IsEmpty());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    std::string_view part = std::string_view(bytes).substr(0, cut);
    EXPECT_EQ(TakeRecord(part).has_value(), cut >= first_bytes) << cut;
    EXPECT_FALSE(TakeRecord(part).has_value()) << cut;
  }
}

}  // namespace
}  // namespace drydock::sim::explore
