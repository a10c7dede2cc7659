// Objects that fail to open, every fault that the decorator applies, and a rule that it refuses.

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "drydock/sim/driver/queue_access.h"
#include "drydock/testing/faults/faulty_scene.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::faults {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A fabric of one machine, and what opening each thing on it says.
struct Opener {
  explicit Opener(FaultPlan plan)
      : engine(EngineOf(std::move(plan))),
        fabric(OpenFaultyFabric(sim::OpenSimFabric(world, world.AddNode("one")),
                                {.engine = engine, .clock = &world})
                   .value()) {}

  // Opens one of each, in this order; the first failure.
  absl::Status OpenAll() {
    auto domain = fabric->OpenDomain(0);
    if (!domain.ok()) return domain.status();
    auto queue = (*domain)->OpenCompletionQueue({});
    if (!queue.ok()) return queue.status();
    auto vector = (*domain)->OpenAddressVector();
    if (!vector.ok()) return vector.status();
    auto counter = (*domain)->OpenCounter();
    if (!counter.ok()) return counter.status();
    auto endpoint = (*domain)->OpenEndpoint({.send_queue = queue->get(),
                                             .receive_queue = queue->get(),
                                             .address_vector = vector->get()});
    if (!endpoint.ok()) return endpoint.status();
    std::array<std::byte, 64> memory;
    auto region = (*domain)->RegisterMemory({.data = memory.data(), .length_bytes = memory.size()});
    if (!region.ok()) return region.status();
    return (*vector)->Insert((*endpoint)->address()).status();
  }

  sim::World world{1, **sim::FindProfile("small")};
  std::shared_ptr<FaultEngine> engine;
  std::unique_ptr<Fabric> fabric;
};

struct OpenCase {
  Fault fault;
  const char* what;
};

class OpenFaultTest : public ::testing::TestWithParam<OpenCase> {};

TEST_P(OpenFaultTest, NthOpeningFailsAndTheNextWorks) {
  FaultRule rule = FaultRule::Of(GetParam().fault, "shortage");
  rule.when.nth = 2;
  Opener opener(PlanOf({rule}));
  EXPECT_THAT(opener.OpenAll(), IsOk());
  EXPECT_THAT(opener.OpenAll(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr(GetParam().what), HasSubstr("fault rule shortage"))));
  EXPECT_THAT(opener.OpenAll(), IsOk());
  EXPECT_THAT(opener.engine->Verify(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(
    All, OpenFaultTest,
    ::testing::Values(OpenCase{Fault::kOpenDomainFails, "open domain"},
                      OpenCase{Fault::kOpenCompletionQueueFails, "open completion queue"},
                      OpenCase{Fault::kOpenAddressVectorFails, "open address vector"},
                      OpenCase{Fault::kOpenCounterFails, "open counter"},
                      OpenCase{Fault::kOpenEndpointFails, "open endpoint"},
                      OpenCase{Fault::kRegisterMemoryFails, "register memory"},
                      OpenCase{Fault::kInsertPeerFails, "insert peer"}),
    [](const auto& row) { return std::string(Describe(row.param.fault).name); });

TEST(OpenFaultsTest, ErrorAndNicAreTheRules) {
  FaultRule rule = FaultRule::Of(Fault::kOpenEndpointFails);
  rule.parameters.error = ErrorCode::kUnsupported;
  Opener opener(PlanOf({rule}));
  EXPECT_THAT(opener.OpenAll(), StatusIs(absl::StatusCode::kUnimplemented));
  rule.when.nics = {"another"};
  Opener other(PlanOf({rule}));
  EXPECT_THAT(other.OpenAll(), IsOk());
  EXPECT_EQ(other.engine->Report()[0].eligible, 0u);
}

// A failed opening left nothing behind that would keep the domain busy.
TEST(OpenFaultsTest, FailedOpeningLeavesNothingBehind) {
  Opener opener(PlanOf({FaultRule::Of(Fault::kOpenEndpointFails)}));
  auto domain = opener.fabric->OpenDomain(0).value();
  {
    auto queue = domain->OpenCompletionQueue({}).value();
    auto vector = domain->OpenAddressVector().value();
    EXPECT_FALSE(domain
                     ->OpenEndpoint({.send_queue = queue.get(),
                                     .receive_queue = queue.get(),
                                     .address_vector = vector.get()})
                     .ok());
    EXPECT_THAT(vector->Close(), IsOk());
    EXPECT_THAT(queue->Close(), IsOk());
  }
  EXPECT_THAT(domain->Close(), IsOk());
}

TEST(OpenFaultsTest, ShareOfTheBytesNeedsTheDevice) {
  FaultRule rule = FaultRule::Of(Fault::kRemoteAddress, "half");
  rule.parameters.placed_percent = 50;
  sim::World world(1, **sim::FindProfile("small"));
  EXPECT_THAT(OpenFaultyFabric(sim::OpenSimFabric(world, world.AddNode("one")),
                               {.engine = EngineOf(PlanOf({rule})), .clock = &world})
                  .status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "rule 1 (half): parameters.placed_percent is 50, which needs the simulated "
                       "NIC: above a fabric it is 0 or 100"));
}

// A program that drives the rings of a simulated NIC by hand can do so under a plan, too.
TEST(PowersTest, PowersOfAnEndpointAreThere) {
  FaultyScene scene(PlanOf({FaultRule::Of(Fault::kUnreachable)}));
  EXPECT_NE(scene.initiator.endpoint->power<sim::QueueAccess>(), nullptr);
}

// ---- All of them ----

std::vector<Fault> DecoratorFaults() {
  std::vector<Fault> faults;
  for (const FaultInfo& info : Catalogue()) {
    // The simulator's queues cannot sleep: WaitFaultsTest.
    if (info.decorator && info.fault != Fault::kSpuriousWake) faults.push_back(info.fault);
  }
  return faults;
}

class DecoratorFaultTest : public ::testing::TestWithParam<Fault> {};

// A little of everything that a program does, on both sides; each fault of the catalogue's
// decorator column strikes there.
TEST_P(DecoratorFaultTest, StrikesSomewhere) {
  FaultRule rule = FaultRule::Of(GetParam());
  const Point point = Describe(GetParam()).point;
  // The scene itself opens what it needs, and what fails is opened once more.
  const bool opens = point <= Point::kInsertPeer;
  rule.when.skip = opens ? 2 : 0;
  if (GetParam() == Fault::kEmptyRead) rule.when.max = 20;  // with empty queues only it never ends
  FaultyScene scene(PlanOf({rule}), true);
  FaultySide& side = scene.initiator;
  for (int i = 0; i < 3; ++i) {
    side.fabric->OpenDomain(0).status().IgnoreError();
    side.domain->OpenCompletionQueue({}).status().IgnoreError();
    side.domain->OpenAddressVector().status().IgnoreError();
    side.domain->OpenCounter().status().IgnoreError();
    scene.OpenAnother(side).status().IgnoreError();
    side.domain->RegisterMemory({.data = side.memory.data(), .length_bytes = 64})
        .status()
        .IgnoreError();
    side.peers->Insert(scene.target.endpoint->address()).status().IgnoreError();
  }
  static_cast<void>(scene.target.endpoint->Recv(scene.RecvOf(1)));
  for (int i = 0; i < 2; ++i) {
    WriteRequest write = scene.WriteOf(std::nullopt);
    write.immediate = 3;
    side.endpoint->Write(std::array{write, scene.WriteOf(Context{2})});
    static_cast<void>(side.endpoint->Read(scene.ReadOf(Context{3})));
    static_cast<void>(side.endpoint->Send(scene.SendOf(Context{4})));
    scene.Run();
  }
  EXPECT_THAT(scene.engine->Verify(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, DecoratorFaultTest, ::testing::ValuesIn(DecoratorFaults()),
                         [](const auto& row) { return std::string(Describe(row.param).name); });

}  // namespace
}  // namespace drydock::fabric::faults
