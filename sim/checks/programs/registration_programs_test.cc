// use-after-deregister and leaks: programs that close memory too early, or nothing at all, and
// their twins; and the effects of a fault plan, which are no fault of theirs.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drydock/sim/checks/programs/stage.h"
#include "drydock/sim/testing/fault_scene.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Access;
using fabric::WriteRequest;
using sim::Check;

constexpr std::optional<Check> kClosed = Check::kUseAfterDeregister;
constexpr std::optional<Check> kLeak = Check::kLeaks;
constexpr std::optional<Check> kRight = std::nullopt;

// ---- Memory that is registered no more ----

const std::vector<Program> kRegistrations = {
    {"WriteFromARegionThatWasClosed", kClosed,
     [](Stage& s) {
       auto region = s.a.Register(0, 4096, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 4096, 1);
       write.source = region->Local();
       region.reset();
       Accepted(s.a.endpoint->Write(write));
       s.Finish(s.a, 1);
     }},
    {"RegionClosesWhenItsWriteHasCompleted", kRight,
     [](Stage& s) {
       auto region = s.a.Register(0, 4096, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 4096, 1);
       write.source = region->Local();
       Accepted(s.a.endpoint->Write(write));
       s.Finish(s.a, 1);
       region.reset();
     }},
    {"RegionClosesUnderItsWrite", kClosed,
     [](Stage& s) {
       auto region = s.a.Register(0, 65536, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 65536, 1);
       write.source = region->Local();
       Accepted(s.a.endpoint->Write(write));
       region.reset();
       s.Finish(s.a, 1);
     }},
    {"RegionClosesUnderARead", kClosed,
     [](Stage& s) {
       auto region = s.a.Register(0, 65536, Access::kAll);
       fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 65536, 1);
       read.target = region->Local();
       Accepted(s.a.endpoint->Read(read));
       region.reset();
       s.Finish(s.a, 1);
     }},
    {"RegionClosesWhenItsReadHasCompleted", kRight,
     [](Stage& s) {
       auto region = s.a.Register(0, 65536, Access::kAll);
       fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 65536, 1);
       read.target = region->Local();
       Accepted(s.a.endpoint->Read(read));
       s.Finish(s.a, 1);
       region.reset();
     }},
    {"MessageMeetsAReceiveInAClosedRegion", kClosed,
     [](Stage& s) {
       auto region = s.b.Register(0, 4096, Access::kAll);
       fabric::RecvRequest receive = s.b.RecvAt(0, 4096, 2);
       receive.buffer = region->Local();
       Accepted(s.b.endpoint->Recv(receive));
       region.reset();
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));
       s.Finish(s.b, 2);
     }},
    {"ReceiveInAClosedRegionThatNobodyTakes", kRight,
     [](Stage& s) {
       auto region = s.b.Register(0, 4096, Access::kAll);
       fabric::RecvRequest receive = s.b.RecvAt(0, 4096, 2);
       receive.buffer = region->Local();
       Accepted(s.b.endpoint->Recv(receive));
       region.reset();
       s.b.endpoint.reset();
     }},
    {"PeerUsesTheKeyOfAnEarlierRegistration", kClosed,
     [](Stage& s) {
       auto region = s.b.Register(0, 4096, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 4096, 1);
       write.target = region->remote();
       region.reset();
       region = s.b.Register(0, 4096, Access::kAll);
       Accepted(s.a.endpoint->Write(write));
       s.Finish(s.a, 1);
     }},
    {"PeerUsesTheKeyOfTheNewRegistration", kRight,
     [](Stage& s) {
       auto region = s.b.Register(0, 4096, Access::kAll);
       region.reset();
       region = s.b.Register(0, 4096, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 4096, 1);
       write.target = region->remote();
       Accepted(s.a.endpoint->Write(write));
       s.Finish(s.a, 1);
     }},
    {"PeerReadsWhatWasClosed", kClosed,
     [](Stage& s) {
       auto region = s.b.Register(0, 4096, Access::kAll);
       fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 4096, 1);
       read.source = region->remote();
       region.reset();
       Accepted(s.a.endpoint->Read(read));
       s.Finish(s.a, 1);
     }},
    {"TargetClosesUnderAPeersWrite", kClosed,
     [](Stage& s) {
       auto region = s.b.Register(0, 200000, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 200000, 1);
       write.target = region->remote();
       Accepted(s.a.endpoint->Write(write));
       s.lab.world().timeline().RunFor(5us);
       region.reset();
       s.Finish(s.a, 1);
     }},
    {"TargetClosesWhenTheImmediateHasCome", kRight,
     [](Stage& s) {
       auto region = s.b.Register(0, 200000, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 200000, 1);
       write.target = region->remote();
       write.immediate = 1;
       Accepted(s.a.endpoint->Write(write));
       s.lab.TakeNameless(s.b);
       region.reset();
       s.Finish(s.a, 1);
     }},
    {"TargetLeavesWithItsEndpointFirst", kRight,
     [](Stage& s) {
       auto region = s.b.Register(0, 200000, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 200000, 1);
       write.target = region->remote();
       Accepted(s.a.endpoint->Write(write));
       s.lab.world().timeline().RunFor(5us);
       s.b.endpoint.reset();
       region.reset();
       s.Finish(s.a, 1);
     }},
    {"InitiatorLeavesWithItsEndpointFirst", kRight,
     [](Stage& s) {
       auto region = s.a.Register(0, 200000, Access::kAll);
       WriteRequest write = s.a.WriteTo(s.b, 0, 200000, 1);
       write.source = region->Local();
       Accepted(s.a.endpoint->Write(write));
       s.lab.world().timeline().RunFor(5us);
       s.a.endpoint.reset();
       region.reset();
     }},
    {"KeyThatNeverWas", kRight,
     [](Stage& s) {
       WriteRequest write = s.a.WriteTo(s.b, 0, 4096, 1);
       write.target.key ^= 1u << 17;
       Accepted(s.a.endpoint->Write(write));
       s.Finish(s.a, 1);
     }},
};

// ---- Objects that are open at the end ----

const std::vector<Program> kEnds = {
    {"RegionIsLeftOpen", kLeak,
     [](Stage& s) { s.kept.push_back(s.a.Register(0, 4096, Access::kAll)); }},
    {"RegionIsClosedAndItsHandleKept", kRight,
     [](Stage& s) {
       std::shared_ptr<fabric::MemoryRegion> region = s.a.Register(0, 4096, Access::kAll);
       EXPECT_TRUE(region->Close().ok());
       s.kept.push_back(std::move(region));
     }},
    {"EndpointIsLeftOpen", kLeak,
     [](Stage& s) { s.kept.push_back(Must(s.a.domain->OpenEndpoint(s.a.Parts()))); }},
    {"EndpointIsClosedTwice", kRight,
     [](Stage& s) {
       std::shared_ptr<fabric::Endpoint> second = Must(s.a.domain->OpenEndpoint(s.a.Parts()));
       EXPECT_TRUE(second->Close().ok());
       EXPECT_TRUE(second->Close().ok());
       s.kept.push_back(std::move(second));
     }},
    {"DomainIsLeftOpen", kLeak,
     [](Stage& s) { s.kept.push_back(Must(s.a.fabric->OpenDomain(0))); }},
    {"CounterAndQueueAreLeftOpen", kLeak,
     [](Stage& s) {
       s.kept.push_back(Must(s.a.domain->OpenCounter()));
       s.kept.push_back(Must(s.a.domain->OpenCompletionQueue({})));
     }},
    {"QueueThatWasBusyIsNotClosedAgain", kLeak,
     [](Stage& s) {
       std::shared_ptr<fabric::CompletionQueue> queue = Must(s.a.domain->OpenCompletionQueue({}));
       fabric::EndpointOptions options = s.a.Parts();
       options.send_queue = options.receive_queue = queue.get();
       auto endpoint = Must(s.a.domain->OpenEndpoint(options));
       EXPECT_FALSE(queue->Close().ok());
       s.kept.push_back(std::move(queue));
     }},
    {"QueueThatWasBusyIsClosedAfterItsEndpoint", kRight,
     [](Stage& s) {
       std::shared_ptr<fabric::CompletionQueue> queue = Must(s.a.domain->OpenCompletionQueue({}));
       fabric::EndpointOptions options = s.a.Parts();
       options.send_queue = options.receive_queue = queue.get();
       auto endpoint = Must(s.a.domain->OpenEndpoint(options));
       EXPECT_FALSE(queue->Close().ok());
       endpoint.reset();
       EXPECT_TRUE(queue->Close().ok());
       s.kept.push_back(std::move(queue));
     }},
    {"ReceivesAreLeftPosted", kRight,
     [](Stage& s) {
       for (std::uint64_t i = 1; i <= 8; ++i) {
         Accepted(s.b.endpoint->Recv(s.b.RecvAt(i * 4096, 4096, i)));
       }
     }},
    {"EverythingIsClosedInsideOut", kRight,
     [](Stage& s) {
       s.b.fabric.reset();
       s.b.domain.reset();
       s.b.queue.reset();
       s.b.peers.reset();
       s.b.region.reset();
       s.b.endpoint.reset();
     }},
    {"RequestsAreUnderWayAtTheEnd", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));  // no receive is posted for it
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.c, 0, 4096, 2)));
       s.c.node.Kill();
     }},
};

TEST_P(ProgramTest, OnAQuietNetwork) { ExpectVerdict(GetParam(), 1, Calm()); }

TEST_P(ProgramTest, OnARoughOne) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) ExpectVerdict(GetParam(), seed, Small());
}

std::string NameOf(const ::testing::TestParamInfo<Program>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Registrations, ProgramTest, ::testing::ValuesIn(kRegistrations), NameOf);
INSTANTIATE_TEST_SUITE_P(Ends, ProgramTest, ::testing::ValuesIn(kEnds), NameOf);

// ---- The text of findings ----

TEST(UseAfterDeregisterTest, EachRequestCountsAndTheKeysOwnerIsNamed) {
  Stage stage(1, Calm());
  auto region = stage.b.Register(0, 8192, Access::kAll);
  WriteRequest write = stage.a.WriteTo(stage.b, 0, 64, 0);
  write.target = region->remote();
  region.reset();
  region = stage.b.Register(0, 8192, Access::kAll);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    write.context = ContextOf(i);
    Accepted(stage.a.endpoint->Write(write));
  }
  for (std::uint64_t i = 1; i <= 5; ++i) stage.Finish(stage.a, i);
  region.reset();
  const std::vector<sim::Finding> findings = stage.lab.End();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].times, 5u);
  EXPECT_THAT(findings[0].what, ::testing::HasSubstr("a registration of 8192 bytes that b/"));
  EXPECT_THAT(findings[0].what, ::testing::HasSubstr("registered again, by another key"));
}

TEST(LeaksTest, EachKindIsCounted) {
  Stage stage(1, Calm());
  stage.kept.push_back(stage.a.Register(0, 4096, Access::kAll));
  stage.kept.push_back(stage.a.Register(4096, 4096, Access::kAll));
  stage.kept.push_back(Must(stage.a.domain->OpenCounter()));
  const std::vector<sim::Finding> findings = stage.lab.End();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what, "still open at the end: 2 memory regions, 1 counter");
  stage.kept.clear();
}

// ---- A plan's own doing ----

class PlanTest : public ::testing::TestWithParam<Fault> {};

TEST_P(PlanTest, WhatAPlanTakesAwayIsNotHeldAgainstAnybody) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    FaultRule rule = Rule(GetParam());
    rule.when.every = 3;
    FaultScene scene({rule}, Small(), seed);
    for (std::uint64_t i = 1; i <= 12; ++i) {
      Accepted(scene.b.endpoint->Recv(scene.b.RecvAt(200000 + i * 1024, 1024, i)));
      WriteRequest write = scene.a.WriteTo(scene.b, i * 8192, 8192, 100 + i);
      write.immediate = static_cast<std::uint32_t>(i);
      Accepted(scene.a.endpoint->Write(write));
      Accepted(scene.a.endpoint->Send(scene.a.SendTo(scene.b, i * 64, 64, 200 + i)));
    }
    scene.lab.Watch(100ms);
    scene.lab.world().CheckRequests();
    EXPECT_GT(scene.Fired(), 0u);
    EXPECT_THAT(scene.lab.world().findings(), ::testing::IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, PlanTest,
                         ::testing::Values(Fault::kLostCompletion, Fault::kHeldCompletion,
                                           Fault::kQueueOverrun, Fault::kLostPlacement,
                                           Fault::kDuplicatePlacement, Fault::kTornPlacement));

}  // namespace
}  // namespace drydock::sim_testing
