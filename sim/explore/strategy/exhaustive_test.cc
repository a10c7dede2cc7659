// The exhaustive search: every order once, and none twice.

#include "drydock/sim/explore/strategy/exhaustive.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "drydock/sim/testing/lab.h"
#include "drydock/sim/world/world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using fabric::ErrorCode;
using sim_testing::Lab;
using sim_testing::Side;
using ::testing::SizeIs;

// Which completions were read, in order: side and context.
using Account = std::vector<std::pair<std::string, std::uint64_t>>;
using Program = std::function<Account(Lab& lab)>;

// An operation by its initiator and its number there, and the event that happened to it.
using StepName = std::tuple<std::uint32_t, std::uint64_t, EventKind, std::uint32_t>;
// Which of two dependent steps came first, for all pairs: equal for equivalent runs only.
using Shape = std::set<std::pair<StepName, StepName>>;

// Records the picks of another scheduler.
class Recorder final : public Scheduler {
 public:
  explicit Recorder(std::unique_ptr<Scheduler> inner) : inner_(std::move(inner)) {}
  Grain grain() const override { return inner_->grain(); }
  std::size_t Pick(std::span<const Step> ready, coro::Duration now) override {
    const std::size_t picked = inner_->Pick(ready, now);
    steps_.push_back(ready[picked]);
    return picked;
  }
  void Ended(std::span<const Step> under_way) override { inner_->Ended(under_way); }

  Shape shape() const {
    std::map<std::uint32_t, std::set<std::uint64_t>> operations;  // of each initiator
    for (const Step& step : steps_) operations[step.initiator].insert(step.operation);
    const auto name_of = [&](const Step& step) {
      const auto& its = operations[step.initiator];
      const auto number = std::distance(its.begin(), its.find(step.operation));
      return StepName(step.initiator, static_cast<std::uint64_t>(number), step.kind, step.packet);
    };
    Shape shape;
    for (std::size_t j = 0; j < steps_.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if (AreIndependent(steps_[i], steps_[j])) continue;
        shape.emplace(name_of(steps_[i]), name_of(steps_[j]));
      }
    }
    return shape;
  }

 private:
  const std::unique_ptr<Scheduler> inner_;
  std::vector<Step> steps_;
};

struct Result {
  std::size_t runs = 0;
  std::size_t redundant = 0;
  std::vector<Account> accounts;  // of the runs that are not redundant
  std::vector<Shape> shapes;
  std::vector<std::string> orders;
};

Result SearchAll(const Program& program, const ExhaustiveSearch::Options& options) {
  Result result;
  ExhaustiveSearch search(options);
  while (search.Next() && result.runs < 3000) {
    Recorder recorder(search.NewScheduler());
    Lab lab(/*seed=*/1, sim_testing::Calm());
    lab.world().UseScheduler(recorder);
    Account account = program(lab);
    recorder.Ended(lab.world().timeline().StepsUnderWay());
    EXPECT_FALSE(search.diverged());
    ++result.runs;
    if (search.redundant()) {
      ++result.redundant;
      continue;
    }
    result.accounts.push_back(std::move(account));
    result.shapes.push_back(recorder.shape());
    result.orders.push_back(search.order());
  }
  return result;
}

template <typename Element>
std::set<Element> SetOf(const std::vector<Element>& elements) {
  return {elements.begin(), elements.end()};
}

constexpr ExhaustiveSearch::Options kAll{.reduction = false};
constexpr ExhaustiveSearch::Options kReduced{.reduction = true};

void Post(Side& from, const Side& to, std::uint64_t context, bool announced = false) {
  fabric::WriteRequest write = from.WriteTo(to, 64 * context, 64, context);
  if (announced) write.immediate = static_cast<std::uint32_t>(context);
  ASSERT_EQ(from.endpoint->Write(write), ErrorCode::kOk);
}

// Reads completions until there are so many; `then` is told of each.
Account ReadAll(
    Lab& lab, const std::vector<Side*>& sides, std::size_t count,
    const std::function<void(Side&, std::uint64_t)>& then = [](Side&, std::uint64_t) {}) {
  Account account;
  lab.Until([&] {
    for (Side* side : sides) {
      for (const fabric::Completion& completion : std::exchange(side->completions, {})) {
        const std::uint64_t context = sim_testing::NumberOf(completion);
        account.emplace_back(side->node.name(), context);
        then(*side, context);
      }
    }
    return account.size() >= count;
  });
  return account;
}

Account FiveWrites(Lab& lab) {
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  for (std::uint64_t context = 1; context <= 5; ++context) Post(a, b, context);
  return ReadAll(lab, {&a}, 5);
}

TEST(ExhaustiveSearchTest, FiveOperationsCompleteInEachOf120OrdersOnce) {
  const Result all = SearchAll(&FiveWrites, kAll);
  EXPECT_EQ(all.runs, 120u);
  EXPECT_EQ(all.redundant, 0u);
  EXPECT_THAT(SetOf(all.accounts), SizeIs(120));
  EXPECT_THAT(SetOf(all.orders), SizeIs(120));
  for (const Account& account : all.accounts) EXPECT_THAT(SetOf(account), SizeIs(5));
}

TEST(ExhaustiveSearchTest, ReductionLeavesOutNoOrderThatAProgramCanSee) {
  const Result reduced = SearchAll(&FiveWrites, kReduced);
  EXPECT_EQ(reduced.runs - reduced.redundant, 120u);
  EXPECT_THAT(SetOf(reduced.accounts), SizeIs(120));
}

// `count` operations on each of several pairs of machines.
Account OnPairs(Lab& lab, const std::vector<std::uint64_t>& counts) {
  std::vector<Side*> initiators;
  std::size_t total = 0;
  for (const std::uint64_t count : counts) {
    const std::string number = std::to_string(initiators.size());
    Side& from = lab.Add("from" + number);
    Side& to = lab.Add("to" + number);
    from.Insert(to);
    to.Insert(from);
    initiators.push_back(&from);
    for (std::uint64_t context = 1; context <= count; ++context) Post(from, to, context);
    total += count;
  }
  return ReadAll(lab, initiators, total);
}

TEST(ExhaustiveSearchTest, DisjointPairsOfMachinesHaveOneOrder) {
  const Program program = [](Lab& lab) { return OnPairs(lab, {1, 1, 1, 1, 1}); };
  EXPECT_EQ(SearchAll(program, kAll).runs, 120u);
  const Result reduced = SearchAll(program, kReduced);
  EXPECT_EQ(reduced.runs, 1u);
  EXPECT_EQ(reduced.redundant, 0u);
}

TEST(ExhaustiveSearchTest, OrdersOfDisjointPairsMultiply) {
  const Program program = [](Lab& lab) { return OnPairs(lab, {2, 3}); };
  EXPECT_EQ(SearchAll(program, kAll).runs, 120u);
  const Result reduced = SearchAll(program, kReduced);
  EXPECT_EQ(reduced.runs - reduced.redundant, 2u * 6u);
  EXPECT_THAT(SetOf(reduced.shapes), SizeIs(12));
}

TEST(ExhaustiveSearchTest, WhatAProgramPostsInAnswerIsOrderedToo) {
  const Program program = [](Lab& lab) {
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    lab.Introduce();
    Post(a, b, 1);
    Post(a, b, 2);
    return ReadAll(lab, {&a}, 3, [&](Side&, std::uint64_t context) {
      if (context == 1) Post(a, b, 3);
    });
  };
  for (const auto& options : {kAll, kReduced}) {  // 123 132 213
    const Result result = SearchAll(program, options);
    EXPECT_EQ(result.runs - result.redundant, 3u);
    EXPECT_THAT(SetOf(result.accounts), SizeIs(3));
  }
}

// Programs in which some things depend on each other and some do not.
Account Triangle(Lab& lab) {
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  Side& c = lab.Add("c");
  lab.Introduce();
  Post(a, b, 1);
  Post(b, c, 2);
  Post(c, a, 3);
  return ReadAll(lab, {&a, &b, &c}, 3);
}

Account Chains(Lab& lab) {
  std::vector<Side*> sides;
  for (const char* name : {"a", "b", "c", "d"}) sides.push_back(&lab.Add(name));
  lab.Introduce();
  Post(*sides[0], *sides[1], 1);
  Post(*sides[2], *sides[3], 1);
  return ReadAll(lab, {sides[0], sides[2]}, 5, [&](Side& side, std::uint64_t context) {
    if (context == 1 && &side == sides[0]) Post(side, *sides[1], 2);
    if (context == 1 && &side == sides[2]) Post(side, *sides[1], 3);
    if (context == 2) Post(side, *sides[3], 4);
  });
}

Account AnnouncedWrites(Lab& lab) {
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  Side& c = lab.Add("c");
  lab.Introduce();
  Post(a, c, 1, /*announced=*/true);
  Post(b, c, 2);
  return ReadAll(lab, {&a, &b, &c}, 3);
}

Account TwoWrites(Lab& lab) {
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  Post(a, b, 1);
  Post(a, b, 2);
  return ReadAll(lab, {&a}, 2);
}

Account ReadAndWrite(Lab& lab) {
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  Side& c = lab.Add("c");
  lab.Introduce();
  EXPECT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, 64, 1)), ErrorCode::kOk);
  Post(c, b, 0 + 2);
  return ReadAll(lab, {&a, &c}, 2);
}

Account Message(Lab& lab) {
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  Side& c = lab.Add("c");
  lab.Introduce();
  EXPECT_EQ(b.endpoint->Recv(b.RecvAt(0, 64, 9)), ErrorCode::kOk);
  EXPECT_EQ(a.endpoint->Send(a.SendTo(b, 1024, 64, 1)), ErrorCode::kOk);
  Post(c, b, 2);
  return ReadAll(lab, {&a, &b, &c}, 3);
}

struct Case {
  const char* name;
  Program program;
  Grain grain;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class ReductionTest : public ::testing::TestWithParam<Case> {};

// The proof by brute force: of all orders, one of each kind.
TEST_P(ReductionTest, EachInequivalentOrderIsRunExactlyOnce) {
  const Result all = SearchAll(GetParam().program, {false, GetParam().grain});
  const Result reduced = SearchAll(GetParam().program, {true, GetParam().grain});
  EXPECT_THAT(all.shapes, SizeIs(SetOf(all.orders).size()));
  EXPECT_EQ(SetOf(reduced.shapes), SetOf(all.shapes));
  EXPECT_EQ(SetOf(reduced.shapes).size(), reduced.shapes.size());
  EXPECT_LT(reduced.runs, all.runs);
  RecordProperty("orders", static_cast<int>(all.runs));
  RecordProperty("inequivalent", static_cast<int>(reduced.shapes.size()));
  RecordProperty("redundant", static_cast<int>(reduced.redundant));
}

INSTANTIATE_TEST_SUITE_P(Programs, ReductionTest,
                         ::testing::Values(Case{"chains", &Chains, Grain::kOperations},
                                           Case{"triangle", &Triangle, Grain::kPackets},
                                           Case{"announced_writes", &AnnouncedWrites,
                                                Grain::kPackets},
                                           Case{"two_writes", &TwoWrites, Grain::kPackets},
                                           Case{"read_and_write", &ReadAndWrite, Grain::kPackets},
                                           Case{"message", &Message, Grain::kPackets}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ExhaustiveSearchTest, TwoWritesByPacketsHaveSixOrdersAndFourKinds) {
  EXPECT_EQ(SearchAll(&TwoWrites, {false, Grain::kPackets}).runs, 6u);
  EXPECT_THAT(SearchAll(&TwoWrites, {true, Grain::kPackets}).shapes, SizeIs(4));
}

TEST(ExhaustiveSearchTest, ProgramThatIsNoFunctionOfItsScheduleIsNoticed) {
  ExhaustiveSearch search(kAll);
  bool diverged = false;
  for (int run = 0; search.Next() && run < 3; ++run) {
    const std::unique_ptr<Scheduler> scheduler = search.NewScheduler();
    Lab lab(/*seed=*/1, sim_testing::Calm());
    lab.world().UseScheduler(*scheduler);
    OnPairs(lab, {run < 2 ? 3u : 4u});
    scheduler->Ended(lab.world().timeline().StepsUnderWay());
    diverged = search.diverged();
  }
  EXPECT_TRUE(diverged);
}

}  // namespace
}  // namespace drydock::sim::explore
