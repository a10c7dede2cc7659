// Machines that share no memory: how each is reached, and which messages pass when something has
// gone.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/gid.h"
#include "drydock/sim/hosts/host.h"
#include "drydock/sim/hosts/sockets/far_machines.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/membership.h"
#include "drydock/sim/hosts/sockets/testing/meeting.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/sim/hosts/testing/station.h"
#include "drydock/sim/hosts/testing/workout.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;
using sim::EfaStatus;

class FarTest : public testing::Test {
 protected:
  StationOptions Options(bool shared_memory) const {
    StationOptions options;
    options.fabric = fabric_;
    options.network = meeting_.network();
    options.key_file = meeting_.key_file();
    options.shared_memory = shared_memory;
    return options;
  }
  // A write of 100,000 bytes, and its arrival.
  static void ExpectWrite(Station& from, Station& to) {
    to.Introduce(from.address().gid);
    from.Fill(0, 100000, ++pattern_);
    const std::uint16_t written = from.Post(
        to.address(), {.operation = efa::Operation::kWrite, .remote = 7, .length = 100000});
    EXPECT_EQ(from.StatusOf(written), 0);
    EXPECT_TRUE(to.Holds(7, 100000, pattern_));
  }

  static inline std::uint64_t pattern_ = 0;
  Meeting meeting_;  // first: it forks
  const std::string fabric_ = FreshFabric();
};

TEST_F(FarTest, SocketsWhereNoMemoryIsShared) {
  Station near(Options(true));
  Station neighbour(Options(true));
  Station far(Options(false));
  ExpectWrite(near, neighbour);
  EXPECT_GT(neighbour.counters().bytes_across, 0u);
  EXPECT_LT(neighbour.counters().bytes_in_messages, 100000u);
  ExpectWrite(near, far);
  ExpectWrite(far, near);
  EXPECT_EQ(far.counters().bytes_across, 0u);
  EXPECT_GE(far.counters().bytes_in_messages, 100000u);
  EXPECT_GE(near.counters().bytes_in_messages, 100000u);
}

TEST_F(FarTest, EachMachineHasAGidOfItsOwn) {
  Station near(Options(true));
  Station neighbour(Options(true));
  Station far(Options(false));
  EXPECT_NE(near.address().gid, neighbour.address().gid);
  EXPECT_NE(near.address().gid, far.address().gid);
  EXPECT_NE(neighbour.address().gid, far.address().gid);
}

TEST_F(FarTest, WithoutTheRendezvousThoseWhoAreThereGoOn) {
  Station one(Options(false));
  Station other(Options(false));
  meeting_.Stop();
  ExpectWrite(one, other);  // they had not spoken before
  ExpectWrite(other, one);
  const StationOptions late = Options(false);
  const auto host = sim::Host::Join({.fabric = late.fabric,
                                     .profile = late.profile,
                                     .network = late.network,
                                     .key_file = late.key_file});
  EXPECT_EQ(host.status().code(), absl::StatusCode::kUnavailable) << host.status();
}

TEST_F(FarTest, WhoNeverWasIsUnreachableAndWhoLeftIsUnresponsive) {
  Station one(Options(false));
  auto other = std::make_unique<Station>(Options(false));
  StationAddress nobody = other->address();
  nobody.gid[14] = 77;
  EXPECT_EQ(one.StatusOf(one.Post(nobody, {.length = 8})),
            static_cast<int>(EfaStatus::kLocalUnreachablePeer));
  other->PostReceive(0, 8, 1);
  const StationAddress address = other->address();
  EXPECT_EQ(one.StatusOf(one.Post(address, {.length = 8})), 0);
  other.reset();
  EXPECT_EQ(one.StatusOf(one.Post(address, {.length = 8})),
            static_cast<int>(EfaStatus::kLocalUnresponsivePeer));
}

// The messages of a machine before it left arrive.
TEST_F(FarTest, TheLastWordArrives) {
  Station one(Options(false));
  for (std::uint16_t i = 0; i < 20; ++i) {
    one.PostReceive(0, 8, i);
    Station other(Options(false));
    one.Introduce(other.address().gid);
    const std::uint16_t sent = other.Post(one.address(), {.length = 8});
    EXPECT_EQ(other.StatusOf(sent), 0) << i;
    EXPECT_EQ(one.Wait().request_id, i);
  }
}

TEST_F(FarTest, AForkedChildKeepsNoConnection) {
  auto a = std::make_unique<Station>(Options(false));
  auto b = std::make_unique<Station>(Options(false));
  b->PostReceive(0, 8, 1);
  EXPECT_EQ(a->StatusOf(a->Post(b->address(), {.length = 8})), 0);
  ChildProcess child([&](Talk& talk) {
    EXPECT_FALSE(a->host().usable());
    talk.Say(true);
    talk.Hear<bool>();
  });
  child.talk().Hear<bool>();
  const StationAddress address = b->address();
  b.reset();
  EXPECT_EQ(a->StatusOf(a->Post(address, {.length = 8})),
            static_cast<int>(EfaStatus::kLocalUnresponsivePeer));
  child.talk().Say(true);
  EXPECT_EQ(child.Wait(), 0);
}

// After a long cut the rendezvous gives away the seat of a machine that lives on.
TEST_F(FarTest, ASeatThatAMachineOfThisComputerStillHasIsNotTaken) {
  Station one(Options(true));
  const sim::NetworkTerms terms = sim::TermsOf(StationProfile());
  const std::uint64_t fabric = sim::FabricNumber(fabric_, 1);
  auto member = sim::FarMachines::Join({.network = meeting_.network(),
                                        .key_file = meeting_.key_file(),
                                        .fabric = fabric,
                                        .terms = terms,
                                        .host = sim::HostNumber()});
  ASSERT_TRUE(member.ok()) << member.status();
  const sim::Seat seat = (*member)->seat();
  EXPECT_EQ(seat.slot, 1);
  const auto lives_on = sim::Directory::Join(
      sim::FabricFileName(sim::FabricNumber(sim::FabricFileName(fabric), seat.network)), terms,
      sim::MachinePlace{.slot = seat.slot, .incarnation = seat.incarnation});
  ASSERT_TRUE(lives_on.ok()) << lives_on.status();
  member->reset();
  Station two(Options(true));
  Station three(Options(true));
  EXPECT_EQ(sim::PlaceOf(fabric, two.address().gid)->machine, 2);
  EXPECT_EQ(sim::PlaceOf(fabric, three.address().gid)->machine, 3);
  ExpectWrite(one, two);
  ExpectWrite(two, three);
  EXPECT_GT(three.counters().bytes_across, 0u);
}

TEST_F(FarTest, AnotherProfileIsRefused) {
  Station one(Options(false));
  sim::Profile profile = StationProfile();
  profile.name = "another";
  const auto host = sim::Host::Join({.fabric = fabric_,
                                     .profile = &profile,
                                     .network = meeting_.network(),
                                     .key_file = meeting_.key_file()});
  EXPECT_EQ(host.status().code(), absl::StatusCode::kFailedPrecondition) << host.status();
}

}  // namespace
}  // namespace drydock::sim_testing
