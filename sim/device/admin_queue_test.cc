// The commands of a driver: their objects, their counters, and the device's refusals.

#include "drydock/sim/device/admin_queue.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/random.h"
#include "drydock/sim/testing/bare_device.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using absl::StatusCode;
using fabric::OperationKind;
using sim::EventKind;
using sim::Operation;
using sim::QueuePair;
using testing::HasSubstr;
using testing_matchers::StatusIs;
using Lines = std::vector<std::string>;

struct AdminQueueTest : testing::Test {
  sim::QueuePairAttributes Attributes() {
    const auto ring = [&] { return std::make_shared<sim::CompletionRing>(0, 0, 16); };
    return {.domain = kDomain,
            .send_ring = ring(),
            .receive_ring = ring(),
            .send_entries = 16,
            .receive_descriptors = 16};
  }
  QueuePair& Create() { return **admin.CreateQueuePair(Attributes()); }
  // Expects so many commands since the last call, of which `refused` were.
  void ExpectCommands(std::uint64_t count, std::uint64_t refused = 0) {
    EXPECT_EQ(counters.submitted_cmds - submitted, count);
    EXPECT_EQ(counters.completed_cmds, counters.submitted_cmds);
    EXPECT_EQ(counters.cmds_err - errors, refused);
    submitted = counters.submitted_cmds;
    errors = counters.cmds_err;
  }

  Bench bench;
  BenchNic& nic = bench.AddNic();
  BenchNic& peer = bench.AddNic();
  BenchParts parts{nic};
  sim::AdminQueue admin{nic.state, bench.around, parts.requester, parts.responder,
                        sim::RandomStream(1, sim::Subsystem::kNicIdentity, 0, 1)};
  const sim::DeviceCounters& counters = nic.state.counters;
  std::uint64_t submitted = 0;
  std::uint64_t errors = 0;
};

TEST_F(AdminQueueTest, DomainsCountFromOneAndAFreeNumberIsUsedAgain) {
  EXPECT_EQ(*admin.AllocateDomain(), 1u);
  EXPECT_EQ(*admin.AllocateDomain(), 2u);
  EXPECT_EQ(*admin.AllocateDomain(), 3u);
  ExpectCommands(3);
  admin.FreeDomain(2);
  ExpectCommands(1);
  EXPECT_EQ(*admin.AllocateDomain(), 2u);
  EXPECT_EQ(*admin.AllocateDomain(), 4u);
}

TEST_F(AdminQueueTest, DeviceHasSoManyDomainsAndNoMore) {
  for (std::uint32_t i = 0; i < bench.profile.device.max_pd; ++i) {
    ASSERT_TRUE(admin.AllocateDomain().ok());
  }
  ExpectCommands(32);
  EXPECT_THAT(admin.AllocateDomain(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("of its 32")));
  EXPECT_EQ(counters.alloc_pd_err, 1u);
  ExpectCommands(1, 1);
  admin.FreeDomain(7);
  EXPECT_EQ(*admin.AllocateDomain(), 7u);
}

TEST_F(AdminQueueTest, RegistrationOpensMemoryUntilItsEnd) {
  std::vector<std::byte> bytes(100);
  const auto address = reinterpret_cast<std::uint64_t>(bytes.data());
  const auto keys = admin.RegisterMemory(kDomain, bytes.data(), 100, fabric::Access::kSend);
  ASSERT_TRUE(keys.ok());
  const auto allowed = [&] {
    return nic.state.memory.AllowsLocal(kDomain, keys->local, address, 100, fabric::Access::kSend);
  };
  EXPECT_TRUE(allowed());
  EXPECT_EQ(bench.told.Take(), Lines{"registered 100 bytes"});
  ExpectCommands(1);
  admin.DeregisterMemory(keys->remote);
  EXPECT_FALSE(allowed());
  EXPECT_EQ(bench.told.Take(), Lines{"deregistered"});
  ExpectCommands(1);
}

TEST_F(AdminQueueTest, OnlyTheDevicesOwnRefusalOfMemoryIsACommand) {
  bench.profile.device.max_mr = 1;  // and the bench has registered one
  std::vector<std::byte> bytes(100);
  EXPECT_THAT(admin.RegisterMemory(kDomain, bytes.data(), 100, fabric::Access::kAll),
              StatusIs(StatusCode::kResourceExhausted));
  ExpectCommands(1, 1);
  EXPECT_EQ(counters.reg_mr_err, 1u);
  EXPECT_THAT(admin.RegisterMemory(kDomain, bytes.data(), SIZE_MAX, fabric::Access::kAll),
              StatusIs(StatusCode::kInvalidArgument));
  ExpectCommands(0);
  EXPECT_EQ(counters.reg_mr_err, 2u);
  EXPECT_TRUE(bench.told.Take().empty());
}

TEST_F(AdminQueueTest, HandleOfADestinationIsMadeOnce) {
  const auto first = admin.CreateAddressHandle(kDomain, peer.state.gid);
  ASSERT_TRUE(first.ok());
  ExpectCommands(1);
  EXPECT_EQ(*admin.CreateAddressHandle(kDomain, peer.state.gid), *first);
  ExpectCommands(0);
  EXPECT_EQ(nic.state.handles.Find(*first, kDomain)->peer, &peer.state);
}

TEST_F(AdminQueueTest, HandleOfNobodyIsRefused) {
  EXPECT_THAT(admin.CreateAddressHandle(kDomain, {1, 2, 3}),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(counters.create_ah_err, 1u);
  ExpectCommands(1, 1);
  EXPECT_EQ(nic.state.handles.live(), 0u);
  // A machine that has died still has its GID: its peers meet silence.
  peer.state.port.alive = false;
  EXPECT_TRUE(admin.CreateAddressHandle(kDomain, peer.state.gid).ok());
}

TEST_F(AdminQueueTest, HandleInAnotherAvailabilityZoneIsRefused) {
  peer.state.zone = 1;
  EXPECT_THAT(admin.CreateAddressHandle(kDomain, peer.state.gid),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(counters.create_ah_err, 1u);
  ExpectCommands(1, 1);
  // Only whether the zone is the same counts, not which it is.
  nic.state.zone = 1;
  EXPECT_TRUE(admin.CreateAddressHandle(kDomain, peer.state.gid).ok());
}

TEST_F(AdminQueueTest, HandleThatIsOneTooManyIsRefused) {
  for (sim::ProtectionDomain domain = 1; domain <= bench.profile.device.max_ah; ++domain) {
    ASSERT_TRUE(admin.CreateAddressHandle(domain, peer.state.gid).ok());
  }
  ExpectCommands(64);
  EXPECT_THAT(admin.CreateAddressHandle(kDomain, nic.state.gid),
              StatusIs(StatusCode::kResourceExhausted));
  EXPECT_EQ(counters.create_ah_err, 1u);
  ExpectCommands(1, 1);
}

TEST_F(AdminQueueTest, WorkToAHandleIsFlushedWithItsLastReference) {
  const std::uint16_t number = *admin.CreateAddressHandle(kDomain, peer.state.gid);
  admin.CreateAddressHandle(kDomain, peer.state.gid).IgnoreError();
  Operation& operation =
      bench.Start(OperationKind::kWrite, nic.OpenQueuePair(), peer.OpenQueuePair(), 100);
  ASSERT_EQ(operation.address_handle, number);
  ExpectCommands(1);
  admin.DestroyAddressHandle(number);
  EXPECT_FALSE(operation.ended);
  ExpectCommands(0);
  admin.DestroyAddressHandle(number);
  EXPECT_TRUE(operation.ended);
  EXPECT_EQ(operation.status, static_cast<std::uint8_t>(sim::EfaStatus::kFlushed));
  EXPECT_EQ(nic.state.handles.Find(number, kDomain), nullptr);
  ExpectCommands(1);
}

TEST_F(AdminQueueTest, RingHasTheLowestNumberThatItsLastOwnerGaveBack) {
  auto first = *admin.CreateCompletionRing(16);
  const auto second = *admin.CreateCompletionRing(32);
  EXPECT_EQ(first->number(), 0u);
  EXPECT_EQ(second->number(), 1u);
  EXPECT_EQ(second->depth(), 32u);
  EXPECT_NE(first->serial(), second->serial());
  const std::uint32_t serial = first->serial();
  ExpectCommands(2);
  admin.DestroyCompletionRing();
  ExpectCommands(1);
  first.reset();
  const auto third = *admin.CreateCompletionRing(16);
  EXPECT_EQ(third->number(), 0u);
  EXPECT_NE(third->serial(), serial);
}

TEST_F(AdminQueueTest, DeviceHasSoManyRingsAndWritesToTheMemoryThatItIsGiven) {
  alignas(8) std::byte memory[16 * 32];
  std::vector<std::shared_ptr<sim::CompletionRing>> rings;
  for (std::uint32_t i = 0; i < bench.profile.device.max_cq; ++i) {
    rings.push_back(*admin.CreateCompletionRing(16, i == 0 ? memory : nullptr));
  }
  EXPECT_EQ(rings[0]->memory(), memory);
  ExpectCommands(64);
  EXPECT_THAT(admin.CreateCompletionRing(16),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("of its 64")));
  EXPECT_EQ(counters.create_cq_err, 1u);
  ExpectCommands(1, 1);
}

TEST_F(AdminQueueTest, RingHasADoorbellIfItRaisesEventsOrTheDeviceGivesOne) {
  EXPECT_FALSE((*admin.CreateCompletionRing(16))->doorbell());
  EXPECT_TRUE((*admin.CreateCompletionRing(16, nullptr, /*events=*/true))->doorbell());
  bench.profile.device.cq_doorbell = true;
  EXPECT_TRUE((*admin.CreateCompletionRing(16))->doorbell());
}

TEST_F(AdminQueueTest, QueuePairIsReadyAndItsKeyIsItsOwn) {
  QueuePair& first = Create();
  ExpectCommands(4);
  EXPECT_EQ(first.state, sim::QueuePairState::kReadyToSend);
  EXPECT_EQ(first.number, 0u);
  EXPECT_EQ(nic.state.queue_pairs.Find(0, first.qkey), &first);
  EXPECT_EQ(first.send.max_batch(), 11u);  // of 64-byte entries; of wide ones it is half
  const std::uint32_t qkey = first.qkey;
  const std::uint32_t serial = first.serial;
  admin.DestroyQueuePair(first);
  QueuePair& second = Create();
  EXPECT_EQ(second.number, 0u);
  EXPECT_EQ(second.ordinal, 1u);
  EXPECT_NE(second.qkey, qkey);
  EXPECT_NE(second.serial, serial);
  EXPECT_EQ(qkey >> 31 | second.qkey >> 31, 0u);  // that bit is privileged
  sim::QueuePairAttributes wide = Attributes();
  wide.wide = true;
  EXPECT_EQ((*admin.CreateQueuePair(wide))->send.max_batch(), 5u);
}

TEST_F(AdminQueueTest, DeviceHasSoManyQueuePairs) {
  for (std::uint32_t i = 0; i < bench.profile.device.max_qp; ++i) Create();
  ExpectCommands(4 * 32);
  EXPECT_THAT(admin.CreateQueuePair(Attributes()),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("of its 32")));
  EXPECT_EQ(counters.create_qp_err, 1u);
  ExpectCommands(1, 1);
}

TEST_F(AdminQueueTest, DestroyedQueuePairLeavesNoWorkAndNoCompletions) {
  QueuePair& queue_pair = nic.OpenQueuePair();
  const auto ring = queue_pair.send_ring;
  QueuePair& target = peer.OpenQueuePair();
  bench.Start(OperationKind::kWrite, queue_pair, target, 100);
  Operation& waits = bench.Start(OperationKind::kSend, target, queue_pair, 100);
  queue_pair.waiting.push_back(waits.id);
  const std::uint16_t number = queue_pair.number;
  admin.DestroyQueuePair(queue_pair);
  ExpectCommands(1);
  EXPECT_EQ(bench.operations.live(), 1u);  // the peer's, which finds out by itself
  EXPECT_EQ(nic.state.queue_pairs.Find(number), nullptr);
  EXPECT_EQ(bench.told.Take(), (Lines{"gone", "queue pair 0 gone"}));
  bench.RunFor(1ms);
  EXPECT_EQ(nic.actor.First(EventKind::kRnrRetry).b, waits.id.Pack());
  EXPECT_TRUE(Bench::Take(*ring).empty());
}

TEST_F(AdminQueueTest, WorkAndReceivesOfAFailedQueuePairAreFlushed) {
  QueuePair& queue_pair = nic.OpenQueuePair();
  Operation& write = bench.Start(OperationKind::kWrite, queue_pair, peer.OpenQueuePair(), 100);
  parts.responder.Ring(queue_pair, bench.Post(queue_pair, Bench::ReceiveInto(9, nic.memory)));
  admin.FailQueuePair(queue_pair);
  EXPECT_EQ(queue_pair.state, sim::QueuePairState::kError);
  EXPECT_TRUE(write.ended);
  EXPECT_EQ(write.status, static_cast<std::uint8_t>(sim::EfaStatus::kFlushed));
  EXPECT_EQ(queue_pair.receive.posted(), 0u);
  EXPECT_EQ(bench.told.Take(), (Lines{"receive 9 taken", "reported 9: 1", "ended: 1"}));
}

// Otherwise a send that hangs there waits for ever: the failed queue pair takes no receives.
TEST_F(AdminQueueTest, PeersThatWaitAtAFailedQueuePairLookOnceMore) {
  QueuePair& queue_pair = nic.OpenQueuePair();
  Operation& waits = bench.Start(OperationKind::kSend, peer.OpenQueuePair(), queue_pair, 100);
  queue_pair.waiting.push_back(waits.id);
  admin.FailQueuePair(queue_pair);
  EXPECT_TRUE(queue_pair.waiting.empty());
  bench.RunFor(1ms);
  EXPECT_EQ(nic.actor.First(EventKind::kRnrRetry).b, waits.id.Pack());
}

TEST_F(AdminQueueTest, QueuePairThatIsResetIsAsNew) {
  QueuePair& queue_pair = nic.OpenQueuePair();
  QueuePair& target = peer.OpenQueuePair();
  const std::uint32_t serial = queue_pair.serial;
  const std::uint32_t qkey = queue_pair.qkey;
  parts.requester.Ring(queue_pair, bench.Post(queue_pair, bench.Work(7, OperationKind::kWrite,
                                                                     queue_pair, target, 100)));
  parts.responder.Ring(queue_pair, bench.Post(queue_pair, Bench::ReceiveInto(9, nic.memory)));
  Operation& waits = bench.Start(OperationKind::kSend, target, queue_pair, 100);
  queue_pair.waiting.push_back(waits.id);
  queue_pair.landing.push_back(3);
  parts.requester.Ring(queue_pair, 999);  // a fault
  bench.told.Take();

  admin.ResetQueuePair(queue_pair);
  EXPECT_EQ(bench.told.Take(), (Lines{"gone", "queue pair 0 gone"}));
  EXPECT_EQ(bench.operations.live(), 1u);  // the peer's, which finds out by itself
  EXPECT_EQ(queue_pair.state, sim::QueuePairState::kInit);
  EXPECT_NE(queue_pair.serial, serial);
  EXPECT_EQ(nic.state.queue_pairs.Find(queue_pair.number, qkey), &queue_pair);
  EXPECT_EQ(nic.state.queue_pairs.FindSame(queue_pair.number, serial), nullptr);
  EXPECT_EQ(queue_pair.under_way, 0u);
  EXPECT_EQ(queue_pair.send.announced(), 0u);
  EXPECT_EQ(queue_pair.receive.posted(), 0u);
  EXPECT_TRUE(queue_pair.landing.empty());
  EXPECT_EQ(queue_pair.last_doorbell_fault, fabric::efa_queue::DoorbellFault::kNone);
  bench.RunFor(1ms);
  EXPECT_EQ(nic.actor.First(EventKind::kRnrRetry).b, waits.id.Pack());
  EXPECT_TRUE(Bench::Sent(queue_pair).empty());
  EXPECT_TRUE(Bench::Take(*queue_pair.receive_ring).empty());
}

// Also what waited because the queue pair was drained.
TEST_F(AdminQueueTest, WorkOfADrainedQueuePairThatFailsIsFlushed) {
  QueuePair& queue_pair = nic.OpenQueuePair();
  admin.DrainQueuePair(queue_pair);
  parts.requester.Ring(queue_pair,
                       bench.Post(queue_pair, bench.Work(7, OperationKind::kWrite, queue_pair,
                                                         peer.OpenQueuePair(), 100)));
  admin.FailQueuePair(queue_pair);
  EXPECT_EQ(bench.told.Take(), (Lines{"doorbell of 1", "fetched 7: 1", "reported 7: 1", "gone"}));
}

}  // namespace
}  // namespace drydock::sim_testing
