// The same seed and the same program give the same events at the same times, with every compiler
// and option. (The digest of a world hashes all events in order.)

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <vector>

#include "absl/strings/str_format.h"
#include "drydock/sim/random.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Completion;
using fabric::ErrorCode;

struct Outcome {
  sim::Digest digest;  // of the world
  std::uint64_t events = 0;
  std::uint64_t story = 0;   // the programs' observations, and their times
  std::uint64_t memory = 0;  // at the end
  coro::Duration took{};

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// The difference between two runs that must be the same in some respect.
struct Variant {
  sim::Profile profile = Small();
  bool idle_machine = false;
};

// The default profile as it was once: golden figures are about the device, not about profiles.
sim::Profile Frozen() {
  sim::Profile profile = Small();
  profile.device = {};
  profile.device.max_sq_depth = 64;
  profile.device.min_sq_depth = 16;
  profile.device.max_rq_depth = 192;
  profile.device.max_llq_size = 64 * 64;
  profile.device.max_cq_depth = 256;
  profile.link_gbps = 100;
  profile.issue_cost = 400ns;
  profile.engine_window = 16;
  profile.dma_gbps = 126;
  profile.dma_latency = 600ns;
  profile.one_way = {.fixed = 8us, .jitter = 6us, .tail_one_in = 64, .tail = 60us};
  profile.header_bytes = 64;
  profile.paths = 64;
  profile.path_spread = 4us;
  profile.retransmit_one_in = 64;
  profile.retransmit_delay = 100us;
  profile.duplicate_one_in = 16;
  profile.duplicate_delay = 10us;
  profile.split_placement_one_in = 4;
  profile.split_placement_delay = 1us;
  profile.ack_delay = 1us;
  profile.unresponsive_timeout = 2s;
  profile.unreachable_timeout = 2s;
  profile.rnr_retries = 7;
  profile.rnr_delay = 50us;
  profile.post_cost = 150ns;
  profile.doorbell_cost = 200ns;
  profile.poll_cost = 40ns;
  return profile;
}

// Three machines that do some of everything; one dies in the end.
class Workload {
 public:
  Workload(std::uint64_t seed, const Variant& variant)
      : choices_(seed, sim::Subsystem::kDriver, 0, 99), lab_(seed, variant.profile) {
    lab_.AllowFindings(sim::Check::kBufferRace);  // it reads and writes wherever it likes
    for (const char* name : {"a", "b", "c"}) sides_.push_back(&lab_.Add(name));
    if (variant.idle_machine) lab_.world().AddNode("idle");
    for (Side* side : sides_) {
      for (Side* other : sides_) side->Insert(*other);
      Fill(side->Bytes(0, Side::kBytes / 2), seed + sides_.size());
    }
  }

  Outcome Run() {
    for (int step = 0; step < 300; ++step) {
      Side& from = *sides_[Choose(3)];
      Side& to = *sides_[Choose(3)];
      Post(from, to, static_cast<std::uint64_t>(step) + 1);
      if (Choose(4) == 0) lab_.world().timeline().RunFor(coro::Duration(Choose(20000)));
      if (Choose(3) == 0) Read();
    }
    sides_[2]->node.Kill();
    Post(*sides_[0], *sides_[2], 1000);
    lab_.Until(
        [&] {
          Read();
          return false;
        },
        5s);
    Outcome outcome{.digest = lab_.world().digest(),
                    .events = lab_.world().timeline().event_count(),
                    .story = story_,
                    .took = lab_.world().timeline().elapsed()};
    for (Side* side : sides_) {
      outcome.memory = sim::Combine(outcome.memory, Checksum(side->memory()));
    }
    return outcome;
  }

 private:
  std::uint64_t Choose(std::uint64_t below) { return choices_.NextBelow(below); }

  void Post(Side& from, Side& to, std::uint64_t context) {
    const std::size_t length = Choose(3) == 0 ? Choose(40000) : Choose(64);
    const std::size_t offset = Choose(Side::kBytes - 40000);
    ErrorCode error = ErrorCode::kOk;
    switch (Choose(6)) {
      case 0:
        error = from.endpoint->Recv(from.RecvAt(offset, length % 9000, context));
        break;
      case 1:
        error = from.endpoint->Send(from.SendTo(to, offset, length % 9000, context));
        break;
      case 2:
        error = from.endpoint->Read(from.ReadFrom(to, offset, length, context));
        break;
      default: {
        fabric::WriteRequest write = from.WriteTo(to, offset, length, context);
        if (Choose(2) == 0) write.immediate = static_cast<std::uint32_t>(context);
        if (Choose(16) == 0) write.target.key ^= 1;
        error = from.endpoint->Write(write);
      }
    }
    Tell(static_cast<std::uint64_t>(error));
  }

  void Read() {
    lab_.Pump();
    for (Side* side : sides_) {
      for (const Completion& completion : side->completions) {
        Tell(NumberOf(completion) << 8 ^ static_cast<std::uint64_t>(completion.provider_error));
        Tell(completion.length_bytes << 32 ^ completion.immediate.value_or(7));
        Tell(static_cast<std::uint64_t>(lab_.world().timeline().elapsed().count()));
      }
      side->completions.clear();
    }
  }

  void Tell(std::uint64_t word) { story_ = sim::Combine(story_, word); }

  sim::RandomStream choices_;
  Lab lab_;
  std::vector<Side*> sides_;
  std::uint64_t story_ = 0;
};

Outcome RunOnce(std::uint64_t seed, const Variant& variant = {}) {
  return Workload(seed, variant).Run();
}

void PrintTo(const Outcome& outcome, std::ostream* os) {
  *os << absl::StrFormat("{{0x%016x, 0x%016x}, %d, 0x%016x, 0x%016x, %dns}", outcome.digest.high,
                         outcome.digest.low, outcome.events, outcome.story, outcome.memory,
                         outcome.took.count());
}

TEST(DeterminismTest, SameSeedSameRun) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) EXPECT_EQ(RunOnce(seed), RunOnce(seed));
}

TEST(DeterminismTest, OtherSeedOtherRun) {
  std::vector<std::uint64_t> digests;
  std::vector<std::uint64_t> stories;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = RunOnce(seed);
    digests.push_back(outcome.digest.high ^ outcome.digest.low);
    stories.push_back(outcome.story);
    EXPECT_GT(outcome.events, 1000u);
  }
  for (std::vector<std::uint64_t>* words : {&digests, &stories}) {
    std::sort(words->begin(), words->end());
    EXPECT_EQ(std::adjacent_find(words->begin(), words->end()), words->end());
  }
}

// The figures of two seeds. They change with the device model, and only with it: when they do, say
// so in the commit. GCC and Clang, with and without optimisation and sanitizers, must agree.
TEST(DeterminismTest, GoldenRuns) {
  Variant fixed;
  fixed.profile = Frozen();
  EXPECT_EQ(RunOnce(1, fixed), (Outcome{{0x5495bf7eae5d7d6d, 0x43c3f6b62822d4ee},
                                        1206,
                                        0x695aa909b781554f,
                                        0xac082eb46db6ded1,
                                        5000825681ns}));
  EXPECT_EQ(RunOnce(2, fixed), (Outcome{{0xc2ba19b307edc566, 0xb73c2b1452074422},
                                        1119,
                                        0xc5752a9dd6cf8176,
                                        0x1cf3b344b9a4587e,
                                        5000644023ns}));
}

// A machine that does nothing changes nothing that the others see.
TEST(DeterminismTest, IdleMachineChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(RunOnce(seed), RunOnce(seed, {.idle_machine = true}));
  }
}

// Nor does a figure of the profile that nothing in this run asks for.
TEST(DeterminismTest, FigureThatIsNotUsedChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Variant other;
    other.profile.unreachable_timeout += 5ms;  // every machine has heard from every other one
    other.profile.device.max_ah += 7;
    other.profile.gpus.clear();
    other.profile.description = "another one";
    EXPECT_EQ(RunOnce(seed), RunOnce(seed, other));
  }
}

// Whether packets are repeated does not change how long any of them takes.
TEST(DeterminismTest, DrawsOfOnePurposeDoNotDisturbAnother) {
  Variant never;
  never.profile.duplicate_one_in = 0;
  Lab with(1);
  Lab without(1, never.profile);
  for (Lab* lab : {&with, &without}) {
    lab->Add("a");
    lab->Add("b");
  }
  for (std::uint64_t operation = 0; operation < 1000; ++operation) {
    const auto send = [operation](Lab& lab) {
      const sim::Wire& wire = lab.world().wire();
      return wire.Send(lab.world().nics()[0].port, lab.world().nics()[2].port,
                       wire.DrawsOf(operation), sim::DrawPurpose::kRequest, 0, false);
    };
    EXPECT_EQ(send(with).delay, send(without).delay);
    EXPECT_FALSE(send(without).twice);
  }
}

}  // namespace
}  // namespace drydock::sim_testing
