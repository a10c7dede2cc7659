// Many faults at once, drawn by seed: under all of them, every accepted operation ends in exactly
// one completion, and nothing is left of it.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/error.h"
#include "drydock/sim/random.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
using fabric::ErrorCode;

constexpr std::uint64_t kSeeds = 300;
constexpr std::uint64_t kRounds = 10;
constexpr std::size_t kSlot = 12288;  // bytes of a round, in both memories

// All but those that lose completions by design, or that make queues so short that this would.
bool TakesPart(Fault fault) {
  return sim::DeviceFaults()[static_cast<std::size_t>(fault)] && fault != Fault::kLostCompletion &&
         fault != Fault::kQueueOverrun && fault != Fault::kImmediateFlood &&
         fabric::faults::Describe(fault).point != fabric::faults::Point::kCapacity;
}

std::vector<FaultRule> DrawRules(std::uint64_t seed) {
  std::vector<Fault> pool;
  for (const fabric::faults::FaultInfo& info : fabric::faults::Catalogue()) {
    if (TakesPart(info.fault)) pool.push_back(info.fault);
  }
  std::vector<FaultRule> rules;
  const std::uint64_t count = 1 + sim::Below(sim::Mix(seed), 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Fault fault = pool[sim::Below(sim::Combine(seed, i), pool.size())];
    FaultRule rule = Rule(fault);
    rule.name = absl::StrCat("rule ", i);
    rule.when.probability = i == 0 ? 0.5 : 0.1;
    // Machines that go are gone: not so soon.
    if (fault == Fault::kNicDies || fault == Fault::kNicResets) rule.when.skip = 20;
    rules.push_back(rule);
  }
  return rules;
}

// The posts of one side, and how often each ended.
struct Ledger {
  std::map<std::uint64_t, int> ends;
  void Post(std::uint64_t context, ErrorCode posted) {
    if (posted == ErrorCode::kOk) ends[context] = 0;
  }
  void Settle(Side& side) {
    for (const fabric::Completion& completion : side.completions) {
      if (completion.context.has_value()) ++ends[NumberOf(completion)];
    }
    side.completions.clear();
  }
};

void PostRound(Side& from, Side& to, Ledger& mine, Ledger& theirs, std::uint64_t round) {
  const std::size_t at = round * kSlot;
  theirs.Post(4000 + round, to.endpoint->Recv(to.RecvAt(at, 4096, 4000 + round)));
  fabric::WriteRequest write = from.WriteTo(to, at, 10000, 1000 + round);
  write.immediate = 7;
  mine.Post(1000 + round, from.endpoint->Write(write));
  mine.Post(2000 + round, from.endpoint->Read(from.ReadFrom(to, at, 10000, 2000 + round)));
  mine.Post(3000 + round, from.endpoint->Send(from.SendTo(to, at, 3000, 3000 + round)));
}

void ExpectEachEndedOnce(const Ledger& ledger, const Side& side, const std::string& what) {
  for (const auto& [context, ends] : ledger.ends) {
    if (context >= 4000 || !side.nic.alive()) {
      EXPECT_LE(ends, 1) << what << ", context " << context;  // no message may have come
    } else {
      EXPECT_EQ(ends, 1) << what << ", context " << context;
    }
  }
}

void RunSeed(std::uint64_t seed) {
  const std::vector<FaultRule> rules = DrawRules(seed);
  std::string what = absl::StrCat("seed ", seed);
  for (const FaultRule& rule : rules) {
    absl::StrAppend(&what, " ", std::string(fabric::faults::Describe(rule.fault).name));
  }
  FaultScene scene(rules, Small(), seed);
  scene.lab.AllowFindings(sim::Check::kBufferRace);  // every kind of request uses the same bytes
  Ledger a;
  Ledger b;
  const auto settle = [&] {
    a.Settle(scene.a);
    b.Settle(scene.b);
  };
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    PostRound(scene.a, scene.b, a, b, round);
    PostRound(scene.b, scene.a, b, a, round);
    scene.lab.Watch(30us);
    settle();
  }
  scene.engine->Heal();
  // For messages whose own receive has failed.
  for (std::uint64_t spare = 0; spare < 2 * kRounds; ++spare) {
    a.Post(5000 + spare, scene.a.endpoint->Recv(scene.a.RecvAt(0, 4096, 5000 + spare)));
    b.Post(5000 + spare, scene.b.endpoint->Recv(scene.b.RecvAt(0, 4096, 5000 + spare)));
  }
  scene.lab.Watch(20s);
  settle();
  ExpectEachEndedOnce(a, scene.a, what + ", side a");
  ExpectEachEndedOnce(b, scene.b, what + ", side b");
  const bool all_alive = scene.a.nic.alive() && scene.b.nic.alive();
  // The dead keep what they had under way.
  EXPECT_TRUE(!all_alive || scene.lab.world().operations().live() == 0) << what;
}

TEST(FaultSwarmTest, EveryOperationEndsOnce) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) RunSeed(seed);
}

}  // namespace
}  // namespace drydock::sim_testing
