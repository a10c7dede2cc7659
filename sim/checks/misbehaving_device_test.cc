// conservation, bounds and immediate-visibility hold the simulator to its word: here they watch
// devices that break it, as no program can make them.

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/memory.h"
#include "drydock/sim/checks/memory_checks.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/device_events.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation_table.h"
#include "drydock/sim/device/posted.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using fabric::Access;
using fabric::OperationKind;

// A NIC with one queue pair, whose events are reported to the checks.
struct Device {
  static constexpr std::uint16_t kDomain = 1;
  static constexpr std::uint32_t kLocal = 0x40005;
  static constexpr std::uint32_t kRemote = 0x80005;

  const Profile& profile = **FindProfile("small");
  Timeline timeline{ClockKind::kVirtual};
  MemoryBus bus{timeline};
  FindingLog log{timeline};
  MemoryChecks checks{log, bus};
  OperationTable operations;
  NicState nic{0, 0, "machine/nic", Gid{}, profile, RandomStream(1, Subsystem::kKeys, 0, 0)};
  CompletionRing ring{2, 1, 8};
  QueuePair& queue_pair = OpenQueuePair(3, 7, kDomain);
  ReceiveWork receive;

  Device() {
    checks.OnEndpointOpened({.nic = nic,
                             .queue_pair = queue_pair,
                             .send_depth = 4,
                             .receive_depth = 4,
                             .immediates_take_receives = false,
                             .state_of = {}});
    Register(kLocal, kRemote, 0x10000, 0x1000, Access::kWrite | Access::kRemoteWrite);
  }
  QueuePair& OpenQueuePair(std::uint16_t number, std::uint32_t qkey, std::uint16_t domain) {
    QueuePairAttributes attributes;
    attributes.domain = domain;
    attributes.send_entries = 4;
    attributes.receive_descriptors = 4;
    auto opened = std::make_unique<QueuePair>(attributes, 4, 1);
    opened->serial = number;
    opened->number = number;
    opened->qkey = qkey;
    QueuePair& reference = *opened;
    nic.queue_pairs.Insert(std::move(opened));
    return reference;
  }
  void Register(std::uint32_t local, std::uint32_t remote, std::uint64_t address,
                std::uint64_t length, Access access) {
    checks.OnRegistered(nic, kDomain, {local, remote}, address, length, access);
  }

  void Post(std::uint16_t id) {
    fabric::efa_queue::SendWork work;
    work.request_id = id;
    work.operation = fabric::efa_queue::Operation::kWrite;
    work.segment_count = 1;
    checks.OnPosted(queue_pair, work, {.kind = OperationKind::kWrite}, 0);
  }
  void PostReceive(std::uint16_t id) {
    fabric::efa_queue::ReceiveWork work;
    work.request_id = id;
    checks.OnReceivePosted(queue_pair, work, {.kind = OperationKind::kReceive});
  }
  // The device has fetched the request, and is not done with it.
  Operation& Fetch(std::uint16_t id) {
    Operation& operation = operations.Start();
    operation.initiator = &nic;
    operation.source = queue_pair.serial;
    operation.queue_pair = queue_pair.number;
    operation.request_id = id;
    operation.kind = OperationKind::kWrite;
    operation.domain = kDomain;
    return operation;
  }
  void Report(std::uint16_t id, bool kept = true) {
    checks.OnReported(
        nic, ring,
        {.request_id = id, .queue_pair = queue_pair.number, .kind = OperationKind::kWrite},
        kept ? EntryFate::kWritten : EntryFate::kWithheld);
  }
  void Read(std::uint16_t id) { checks.OnCompletionRead(queue_pair, false, id, /*status=*/0); }
  void Complete(std::uint16_t id) {
    Report(id);
    Read(id);
  }
  void Audit() { checks.Audit(queue_pair, /*unrung=*/0, operations); }

  // The device reads memory of its own machine, for a write.
  void ReadHere(std::uint64_t address, std::uint32_t length, std::uint32_t key = kLocal,
                std::uint16_t domain = kDomain) {
    Operation& write = Fetch(0);
    write.domain = domain;
    write.segment_count = 1;
    write.segments[0] = {address, length, key};
    write.length = length;
    Place(write, nullptr);
  }
  // The device writes the memory that the write of a peer names, for `target`.
  void WriteThere(std::uint64_t address, std::uint64_t length, std::uint32_t key = kRemote) {
    WriteThere(queue_pair, address, length, key);
  }
  void WriteThere(const QueuePair& target, std::uint64_t address, std::uint64_t length,
                  std::uint32_t key = kRemote) {
    Operation& write = Fetch(0);
    write.is_inline = true;  // nothing is read
    write.remote_address = address;
    write.remote_key = key;
    write.length = length;
    Place(write, &target);
  }
  void Place(Operation& write, const QueuePair* target) {
    const Range all{0, write.length};
    checks.OnPlacing({.nic = nic,
                      .id = write.id,
                      .operation = &write,
                      .target = target,
                      .packet = 0,
                      .range = all,
                      .read = all,
                      .second_copy = false,
                      .rest_comes = false,
                      .reads_source = true,
                      .memory = {},
                      .in_memory = {}});
    operations.End(write);
  }
  // The immediate of a write of `length` bytes, `placed` of which are in memory.
  void Announce(std::uint64_t placed, std::uint64_t length) {
    Operation& write = Fetch(0);
    write.length = length;
    write.bytes_placed = placed;
    checks.OnImmediateDelivered(nic, queue_pair, write);
  }
};

struct Case {
  const char* name;
  std::optional<Check> breaks;
  void (*run)(Device& device);
};
void PrintTo(const Case& given, std::ostream* os) { *os << given.name; }

constexpr std::optional<Check> kLost = Check::kConservation;
constexpr std::optional<Check> kOut = Check::kBounds;
constexpr std::optional<Check> kEarly = Check::kImmediateVisibility;
constexpr std::optional<Check> kRight = std::nullopt;

const std::vector<Case> kConservation = {
    {"OneCompletionEach", kRight,
     [](Device& d) {
       for (std::uint16_t id = 0; id < 4; ++id) d.Post(id);
       for (std::uint16_t id = 0; id < 4; ++id) d.Complete(id);
       d.Audit();
     }},
    {"SlotIsUsedAgain", kRight,
     [](Device& d) {
       d.Post(1);
       d.Complete(1);
       d.Post(1 + 4);
       d.Complete(1 + 4);
       d.Audit();
     }},
    {"NoCompletion", kLost,
     [](Device& d) {
       d.Post(1);
       d.Audit();
     }},
    {"NoCompletionYet", kRight,
     [](Device& d) {
       d.Post(1);
       d.Fetch(1);
       d.Audit();
     }},
    {"NoCompletionOfAMalformedOneThatWaits", kRight,
     [](Device& d) {
       d.Post(1);
       *static_cast<std::uint64_t*>(d.queue_pair.send.Slot(0)) = 1;  // its number, and no more
       d.queue_pair.send.Ring(1);
       d.Audit();
     }},
    {"NoCompletionLater", kLost,  // a mark is good for one audit
     [](Device& d) {
       d.Post(1);
       Operation& operation = d.Fetch(1);
       d.Audit();
       d.operations.End(operation);
       d.Audit();
     }},
    {"NoCompletionOfADeadMachine", kRight,
     [](Device& d) {
       d.Post(1);
       d.checks.OnDied(d.nic);
       d.Audit();
     }},
    {"NoCompletionAndAReason", kRight,
     [](Device& d) {
       d.Post(1);
       d.Report(1, false);
       d.Audit();
     }},
    {"LateCompletion", kRight,
     [](Device& d) {
       d.Post(1);
       d.Report(1, false);
       d.Complete(1);
       d.Audit();
     }},
    {"TwoEntries", kLost,
     [](Device& d) {
       d.Post(1);
       d.Report(1);
       d.Report(1);
     }},
    {"EntryOfThePastUse", kLost,
     [](Device& d) {
       d.Post(1);
       d.Complete(1);
       d.Post(1 + 4);
       d.Report(1);
     }},
    {"CompletionOfNothing", kLost, [](Device& d) { d.Read(2); }},
    {"PostIntoASlotInUse", kLost,
     [](Device& d) {
       d.Post(1);
       d.Post(1);
     }},
    {"ReceiveIsTakenAndNeverReported", kLost,
     [](Device& d) {
       d.PostReceive(2);
       d.receive.request_id = 2;
       d.checks.OnReceiveTaken(d.nic, d.queue_pair, d.receive);
       d.Audit();
     }},
    {"ReceiveIsLeft", kRight,
     [](Device& d) {
       d.PostReceive(2);
       d.Audit();
     }},
    {"RingsOfSomebodyElse", kRight,
     [](Device& d) {
       d.Post(1);
       d.checks.OnRingsTaken(d.queue_pair);
       d.Report(77);
       d.Read(77);
       d.Audit();
     }},
};

const std::vector<Case> kMemory = {
    {"Inside", kRight,
     [](Device& d) {
       d.ReadHere(0x10000, 0x1000);
       d.WriteThere(0x10000, 0x1000);
       d.WriteThere(0x10fff, 1);
     }},
    {"OneByteBehind", kOut, [](Device& d) { d.ReadHere(0x10fff, 2); }},
    {"OneByteBefore", kOut, [](Device& d) { d.WriteThere(0xffff, 2); }},
    {"AroundTheAddressSpace", kOut, [](Device& d) { d.WriteThere(0x10800, UINT64_MAX - 0x400); }},
    {"KeyOfTheLastGeneration", kOut, [](Device& d) { d.WriteThere(0x10000, 64, 0x40005); }},
    {"KeyOfNothing", kOut, [](Device& d) { d.ReadHere(0x10000, 64, 0x40077); }},
    {"WithoutTheRight", kOut,
     [](Device& d) {
       d.Register(0x40006, 0x80006, 0x20000, 64, Access::kRemoteRead);
       d.WriteThere(0x20000, 64, 0x80006);
     }},
    {"ForAnotherDomain", kOut, [](Device& d) { d.ReadHere(0x10000, 64, Device::kLocal, 2); }},
    {"ForAPeerInAnotherDomain", kOut,
     [](Device& d) { d.WriteThere(d.OpenQueuePair(3 + 1, 7, 2), 0x10000, 64); }},
    {"AfterTheClose", kOut,
     [](Device& d) {
       d.checks.OnDeregistered(d.nic, Device::kRemote);
       d.WriteThere(0x10000, 64);
     }},
    {"AfterTheNextRegistration", kRight,
     [](Device& d) {
       d.checks.OnDeregistered(d.nic, Device::kRemote);
       d.Register(0x80005, 0xc0005, 0x20000, 64, Access::kRemoteWrite);
       d.WriteThere(0x20000, 64, 0xc0005);
     }},
    {"ImmediateAfterAllBytes", kRight, [](Device& d) { d.Announce(4096, 4096); }},
    {"ImmediateOfAnEmptyWrite", kRight, [](Device& d) { d.Announce(0, 0); }},
    {"ImmediateBeforeTheLastByte", kEarly, [](Device& d) { d.Announce(4095, 4096); }},
};

class MisbehavingDeviceTest : public ::testing::TestWithParam<Case> {};

TEST_P(MisbehavingDeviceTest, IsFound) {
  Device device;
  GetParam().run(device);
  if (!GetParam().breaks.has_value()) {
    EXPECT_THAT(device.log.findings(), ::testing::IsEmpty());
    return;
  }
  const std::span<const Finding> findings = device.log.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, *GetParam().breaks);
  EXPECT_EQ(findings[0].where, device.nic.name);
  EXPECT_EQ(findings[0].queue, 3u);
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Conservation, MisbehavingDeviceTest, ::testing::ValuesIn(kConservation),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Memory, MisbehavingDeviceTest, ::testing::ValuesIn(kMemory), NameOf);

}  // namespace
}  // namespace drydock::sim
