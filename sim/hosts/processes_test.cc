// Hosts in processes of their own: traffic, deaths, successors, and the files that they leave
// behind.

#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/hosts/gid.h"
#include "drydock/sim/hosts/shared_file.h"
#include "drydock/sim/hosts/sockets/testing/meeting.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/sim/hosts/testing/station.h"
#include "drydock/sim/hosts/testing/workout.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;
using sim::EfaStatus;

int Number(EfaStatus status) { return static_cast<int>(status); }

enum class Bytes { kAcross, kInMessages, kBySockets };

class ProcessesTest : public testing::TestWithParam<Bytes> {
 protected:
  ProcessesTest() {
    if (GetParam() == Bytes::kBySockets) meeting_.emplace();
  }
  ~ProcessesTest() override { EXPECT_EQ(FilesLeft(), 0u); }

  StationOptions Options() const {
    StationOptions options;
    options.fabric = fabric_;
    options.cross_memory = GetParam() == Bytes::kAcross;
    options.memory_bytes = kWorkoutBytes;
    if (meeting_.has_value()) {
      options.network = meeting_->network();
      options.key_file = meeting_->key_file();
      options.shared_memory = false;
    }
    return options;
  }
  std::size_t FilesLeft() const {
    const std::string name = sim::FabricFileName(sim::FabricNumber(fabric_, 1));
    std::size_t files = 0;
    DIR* folder = opendir(sim::kSharedFolder);
    while (const dirent* entry = readdir(folder)) {
      if (absl::StartsWith(entry->d_name, name)) ++files;
    }
    closedir(folder);
    return files;
  }
  // A child that lives until it is told to go: it sends its address, receives our GID, and serves.
  void ServeUntilTold(Talk& talk) const {
    Station station(Options());
    PrepareToServe(station);
    talk.Say(station.address());
    station.Introduce(talk.Hear<sim::Gid>());
    talk.Say(true);
    std::optional<WorkoutTally> expected;
    talk.Say(ServeWorkout(station, [&](const WorkoutTally& tally) {
      if (!expected.has_value() && talk.HasNews()) expected = talk.Hear<WorkoutTally>();
      return expected.has_value() && tally.messages >= expected->messages &&
             tally.immediates >= expected->immediates;
    }));
  }

  const std::string fabric_ = FreshFabric();
  std::optional<Meeting> meeting_;
};

std::string NameOf(const testing::TestParamInfo<Bytes>& way) {
  constexpr const char* kNames[] = {"Across", "InMessages", "BySockets"};
  return kNames[static_cast<int>(way.param)];
}

INSTANTIATE_TEST_SUITE_P(AllWays, ProcessesTest,
                         testing::Values(Bytes::kAcross, Bytes::kInMessages, Bytes::kBySockets),
                         NameOf);

TEST_P(ProcessesTest, EveryByteArrives) {
  ChildProcess child([this](Talk& talk) { ServeUntilTold(talk); });
  Station station(Options());
  const auto peer = child.talk().Hear<StationAddress>();
  child.talk().Say(station.address().gid);
  child.talk().Hear<bool>();
  const WorkoutTally done = RunWorkout(station, peer, 3000, 1);
  child.talk().Say(done);
  const auto served = child.talk().Hear<WorkoutTally>();
  EXPECT_EQ(served.messages, done.messages);
  EXPECT_EQ(served.immediates, done.immediates);
  EXPECT_EQ(child.Wait(), 0);
  const sim::HostCounters counters = station.counters();
  EXPECT_EQ(counters.bytes_across > 0, GetParam() == Bytes::kAcross);
  EXPECT_EQ(counters.messages_refused, 0u);
}

TEST_P(ProcessesTest, NobodyHasToPollThere) {
  ChildProcess child([this](Talk& talk) {
    Station station(Options());
    talk.Say(station.address());
    station.Introduce(talk.Hear<sim::Gid>());
    talk.Say(true);
    talk.Hear<bool>();  // all the time the program does something else
    EXPECT_TRUE(station.Holds(5, 200000, 11));
  });
  Station station(Options());
  const auto peer = child.talk().Hear<StationAddress>();
  child.talk().Say(station.address().gid);
  child.talk().Hear<bool>();
  station.Fill(0, 200000, 11);
  const std::uint16_t written = station.Post(
      peer, {.operation = efa::Operation::kWrite, .local = 0, .remote = 5, .length = 200000});
  EXPECT_EQ(station.StatusOf(written), 0);
  child.talk().Say(true);
  EXPECT_EQ(child.Wait(), 0);
}

TEST_P(ProcessesTest, ADeadTargetIsSilent) {
  ChildProcess child([this](Talk& talk) {
    Station station(Options());
    station.PostReceive(0, 8, 1);
    talk.Say(station.address());
    talk.Hear<bool>();
  });
  Station station(Options());
  const auto peer = child.talk().Hear<StationAddress>();
  EXPECT_EQ(station.StatusOf(station.Post(peer, {.length = 8})), 0);
  const std::uint16_t waits = station.Post(peer, {.length = 8});  // for a receive, for ever
  EXPECT_FALSE(station.Poll().has_value());
  child.Kill();
  EXPECT_EQ(station.StatusOf(waits), Number(EfaStatus::kLocalUnresponsivePeer));
  EXPECT_EQ(station.StatusOf(station.Post(peer, {.length = 8})),
            Number(EfaStatus::kLocalUnresponsivePeer));
}

TEST_P(ProcessesTest, ASuccessorIsSomebodyElse) {
  const auto serve = [this](Talk& talk) {
    Station station(Options());
    station.PostReceive(0, 8, 1);
    talk.Say(station.address());
    talk.Hear<bool>();
  };
  ChildProcess holder([this](Talk& talk) {  // so that both are in the second slot
    Station station(Options());
    talk.Say(station.address());
    const auto first = talk.Hear<StationAddress>();
    EXPECT_EQ(station.StatusOf(station.Post(first, {.length = 8})), 0);
    talk.Say(true);
    const auto second = talk.Hear<StationAddress>();
    EXPECT_EQ(second.gid, first.gid);
    EXPECT_NE(second.qkey, first.qkey);
    EXPECT_EQ(station.StatusOf(station.Post(first, {.length = 8})),
              Number(EfaStatus::kRemoteBadQueuePair));
    EXPECT_EQ(station.StatusOf(station.Post(second, {.length = 8})), 0);
    talk.Say(true);
  });
  holder.talk().Hear<StationAddress>();
  {
    ChildProcess child(serve);
    holder.talk().Say(child.talk().Hear<StationAddress>());
    holder.talk().Hear<bool>();
    child.Kill();
  }
  ChildProcess child(serve);
  holder.talk().Say(child.talk().Hear<StationAddress>());
  holder.talk().Hear<bool>();
  EXPECT_EQ(holder.Wait(), 0);
  child.talk().Say(true);
  EXPECT_EQ(child.Wait(), 0);
}

// An initiator dies again and again in the middle of everything; the target lives on.
TEST_P(ProcessesTest, ATargetSurvivesItsInitiators) {
  ChildProcess server([this](Talk& talk) { ServeUntilTold(talk); });
  const auto peer = server.talk().Hear<StationAddress>();
  // All initiators have the same GID, the second slot's, as has one that was there before.
  ChildProcess before([&](Talk& talk) { talk.Say(Station(Options()).address().gid); });
  const auto gid = before.talk().Hear<sim::Gid>();
  EXPECT_EQ(before.Wait(), 0);
  server.talk().Say(gid);
  server.talk().Hear<bool>();
  for (std::uint64_t i = 0; i < 8; ++i) {
    ChildProcess initiator([&](Talk& talk) {
      Station station(Options());
      EXPECT_EQ(station.address().gid, gid);
      talk.Say(true);
      RunWorkout(station, peer, 1'000'000, i);
    });
    initiator.talk().Hear<bool>();
    usleep(static_cast<useconds_t>(3000 * (i + 1)));  // anywhere in the middle of it
    initiator.Kill();
  }
  ChildProcess last([&](Talk& talk) {
    Station station(Options());
    RunWorkout(station, peer, 500, 99);
    talk.Say(true);
  });
  last.talk().Hear<bool>();
  EXPECT_EQ(last.Wait(), 0);
  server.talk().Say(WorkoutTally{});
  EXPECT_GE(server.talk().Hear<WorkoutTally>().messages, 200u);
  EXPECT_EQ(server.Wait(), 0);
}

// Memory that is registered and not there: no process crashes, the bytes are lost.
TEST(CrossMemoryTest, MemoryThatIsGoneIsLost) {
  StationOptions options;
  options.fabric = FreshFabric();
  Station a(options);
  Station b(options);
  b.Introduce(a.address().gid);
  void* gone = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  StationAddress address = b.address();
  {
    const std::lock_guard lock(b.host().mutex());
    const auto keys = b.nic().admin().RegisterMemory(1, static_cast<std::byte*>(gone), 1 << 20,
                                                     fabric::Access::kAll);
    ASSERT_TRUE(keys.ok()) << keys.status();
    address.memory = reinterpret_cast<std::uint64_t>(gone);
    address.key = keys->remote;
  }
  ASSERT_EQ(mprotect(gone, 1 << 20, PROT_NONE), 0);
  EXPECT_EQ(a.StatusOf(a.Post(address, {.operation = efa::Operation::kRead, .length = 8928})),
            Number(EfaStatus::kLocalUnreachablePeer));
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.operation = efa::Operation::kRead, .length = 8928})),
            0);
  munmap(gone, 1 << 20);
}

TEST(ForkTest, AChildHasNoHost) {
  StationOptions options;
  options.fabric = FreshFabric();
  auto a = std::make_unique<Station>(options);
  auto b = std::make_unique<Station>(options);
  EXPECT_TRUE(a->host().usable());
  ChildProcess child([&](Talk& talk) {
    EXPECT_FALSE(a->host().usable());
    EXPECT_FALSE(b->host().usable());
    talk.Say(true);
    talk.Hear<bool>();
  });
  child.talk().Hear<bool>();
  b->PostReceive(0, 8, 1);
  EXPECT_EQ(a->StatusOf(a->Post(b->address(), {.length = 8})), 0);
  const StationAddress address = b->address();
  b.reset();  // the child does not keep the machine alive
  EXPECT_EQ(a->StatusOf(a->Post(address, {.length = 8})),
            Number(EfaStatus::kLocalUnresponsivePeer));
  child.talk().Say(true);
  EXPECT_EQ(child.Wait(), 0);
}

// A child that uses its parent's objects, as the end of a static object may, is not heard of: its
// parent and the neighbours go on.
TEST(ForkTest, AChildThatGoesOnHarmsNobody) {
  StationOptions options;
  options.fabric = FreshFabric();
  Station a(options);
  Station b(options);
  b.Introduce(a.address().gid);
  a.Fill(0, 8, 1);
  b.PostReceive(0, 8, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 8})), 0);  // both have met
  EXPECT_EQ(b.Wait().status, efa::CompletionStatus::kOk);
  std::unique_lock of_a(a.host().mutex());  // no thread of theirs has it where the child begins
  std::unique_lock of_b(b.host().mutex());
  ChildProcess child([&](Talk& talk) {
    of_a.unlock();
    of_b.unlock();
    a.Fill(0, 8, 2);
    a.Post(b.address(), {.operation = efa::Operation::kWrite, .length = 8});
    for (int i = 0; i < 50; ++i) {  // longer than machines take to look after each other
      for (Station* const station : {&a, &b}) {
        const std::lock_guard lock(station->host().mutex());
        station->host().Progress();
        station->host().Posted();
      }
      usleep(2000);
    }
    talk.Say(true);
    talk.Hear<bool>();
  });
  of_a.unlock();
  of_b.unlock();
  child.talk().Hear<bool>();
  for (Station* const from : {&a, &b}) {
    Station& to = from == &a ? b : a;
    EXPECT_EQ(from->StatusOf(
                  from->Post(to.address(), {.operation = efa::Operation::kWrite, .length = 8})),
              0);
    EXPECT_TRUE(to.Holds(0, 8, 1));
  }
  child.talk().Say(true);
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
}  // namespace drydock::sim_testing
