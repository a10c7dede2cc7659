// conservation, bounds and immediate-visibility hold the simulator to its word: here they watch
// devices that break it, as no program can make them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "fabric/efa_queue/receive_wqe.h"
#include "fabric/efa_queue/wqe.h"
#include "fabric/memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/checks/memory_checks.h"

namespace sim {
namespace {

using fabric::Access;
using fabric::OperationKind;

// What one device does, told to the checks.
struct Device {
  std::vector<Finding> findings;
  MemoryBus bus{[](std::uint64_t, coro::Duration) {}};
  MemoryChecks checks{findings, bus};
  std::string name = "machine/nic";
  WatchedQueue* queue = checks.Open(0, name, 3, 7, 1, 4, 4);
  const Toucher write{name, 3, OperationKind::kWrite};

  Device() {
    checks.registrations().Register(0, name, 1, 0x40005, 0x80005, 0x10000, 0x1000,
                                    Access::kWrite | Access::kRemoteWrite);
  }

  void Post(std::uint16_t id) {
    fabric::efa_queue::SendWork work;
    work.request_id = id;
    work.operation = fabric::efa_queue::Operation::kWrite;
    work.segment_count = 1;
    checks.PostedSend(*queue, work, OperationKind::kWrite, 0);
  }
  void PostReceive(std::uint16_t id) {
    fabric::efa_queue::ReceiveWork work;
    work.request_id = id;
    checks.PostedReceive(*queue, work);
  }
  void Complete(std::uint16_t id) {
    checks.Reported(*queue, false, id);
    checks.Read(*queue, false, id);
  }
  void PlaceHere(std::uint64_t address, std::uint64_t length, std::uint32_t key = 0x40005,
                 std::uint16_t domain = 1, Access wanted = Access::kWrite) {
    checks.registrations().PlacingLocal(write, 0, domain, {address, length, key}, wanted);
  }
  void PlaceThere(std::uint64_t address, std::uint64_t length, std::uint32_t key = 0x80005,
                  std::uint16_t domain = 1, Access wanted = Access::kRemoteWrite) {
    checks.registrations().PlacingRemote(write, 0, domain, {address, length, key}, wanted);
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
       d.checks.Audit(*d.queue);
     }},
    {"SlotIsUsedAgain", kRight,
     [](Device& d) {
       d.Post(1);
       d.Complete(1);
       d.Post(1 + 4);
       d.Complete(1 + 4);
       d.checks.Audit(*d.queue);
     }},
    {"NoCompletion", kLost,
     [](Device& d) {
       d.Post(1);
       d.checks.Audit(*d.queue);
     }},
    {"NoCompletionYet", kRight,
     [](Device& d) {
       d.Post(1);
       d.queue->FindSend(1)->under_way = true;
       d.checks.Audit(*d.queue);
     }},
    {"NoCompletionLater", kLost,  // a mark is good for one audit
     [](Device& d) {
       d.Post(1);
       d.queue->FindSend(1)->under_way = true;
       d.checks.Audit(*d.queue);
       d.checks.Audit(*d.queue);
     }},
    {"NoCompletionOfADeadMachine", kRight,
     [](Device& d) {
       d.Post(1);
       d.checks.Died(0);
       d.checks.Audit(*d.queue);
     }},
    {"NoCompletionAndAReason", kRight,
     [](Device& d) {
       d.Post(1);
       d.checks.Excused(*d.queue, false, 1);
       d.checks.Audit(*d.queue);
     }},
    {"LateCompletion", kRight,
     [](Device& d) {
       d.Post(1);
       d.checks.Excused(*d.queue, false, 1);
       d.Complete(1);
       d.checks.Audit(*d.queue);
     }},
    {"TwoEntries", kLost,
     [](Device& d) {
       d.Post(1);
       d.checks.Reported(*d.queue, false, 1);
       d.checks.Reported(*d.queue, false, 1);
     }},
    {"EntryOfThePastUse", kLost,
     [](Device& d) {
       d.Post(1);
       d.Complete(1);
       d.Post(1 + 4);
       d.checks.Reported(*d.queue, false, 1);
     }},
    {"CompletionOfNothing", kLost, [](Device& d) { d.checks.Read(*d.queue, false, 2); }},
    {"PostIntoASlotInUse", kLost,
     [](Device& d) {
       d.Post(1);
       d.Post(1);
     }},
    {"ReceiveIsTakenAndNeverReported", kLost,
     [](Device& d) {
       d.PostReceive(2);
       d.checks.Taken(*d.queue, 2);
       d.checks.Audit(*d.queue);
     }},
    {"ReceiveIsLeft", kRight,
     [](Device& d) {
       d.PostReceive(2);
       d.checks.Audit(*d.queue);
     }},
    {"RingsOfSomebodyElse", kRight,
     [](Device& d) {
       d.Post(1);
       d.checks.TakeOver(*d.queue);
       d.checks.Reported(*d.queue, false, 77);
       d.checks.Read(*d.queue, false, 77);
       d.checks.Audit(*d.queue);
     }},
};

const std::vector<Case> kMemory = {
    {"Inside", kRight,
     [](Device& d) {
       d.PlaceHere(0x10000, 0x1000);
       d.PlaceThere(0x10000, 0x1000);
       d.PlaceThere(0x10fff, 1);
     }},
    {"OneByteBehind", kOut, [](Device& d) { d.PlaceHere(0x10fff, 2); }},
    {"OneByteBefore", kOut, [](Device& d) { d.PlaceThere(0xffff, 2); }},
    {"AroundTheAddressSpace", kOut, [](Device& d) { d.PlaceThere(0x10800, UINT64_MAX - 0x400); }},
    {"KeyOfTheLastGeneration", kOut, [](Device& d) { d.PlaceThere(0x10000, 64, 0x40005); }},
    {"KeyOfNothing", kOut, [](Device& d) { d.PlaceHere(0x10000, 64, 0x40077); }},
    {"WithoutTheRight", kOut,
     [](Device& d) { d.PlaceThere(0x10000, 64, 0x80005, 1, Access::kRemoteRead); }},
    {"ForAnotherDomain", kOut, [](Device& d) { d.PlaceHere(0x10000, 64, 0x40005, 2); }},
    {"ForAPeerInAnotherDomain", kOut, [](Device& d) { d.PlaceThere(0x10000, 64, 0x80005, 2); }},
    {"AfterTheClose", kOut,
     [](Device& d) {
       d.checks.registrations().Deregister(0, 0x80005);
       d.PlaceThere(0x10000, 64);
     }},
    {"AfterTheNextRegistration", kRight,
     [](Device& d) {
       d.checks.registrations().Deregister(0, 0x80005);
       d.checks.registrations().Register(0, d.name, 1, 0x80005, 0xc0005, 0x20000, 64,
                                         Access::kRemoteWrite);
       d.PlaceThere(0x20000, 64, 0xc0005);
     }},
    {"ImmediateAfterAllBytes", kRight,
     [](Device& d) { d.checks.Announced(d.name, 3, 4096, 4096); }},
    {"ImmediateOfAnEmptyWrite", kRight, [](Device& d) { d.checks.Announced(d.name, 3, 0, 0); }},
    {"ImmediateBeforeTheLastByte", kEarly,
     [](Device& d) { d.checks.Announced(d.name, 3, 4095, 4096); }},
};

class MisbehavingDeviceTest : public ::testing::TestWithParam<Case> {};

TEST_P(MisbehavingDeviceTest, IsFound) {
  Device device;
  GetParam().run(device);
  if (!GetParam().breaks.has_value()) {
    EXPECT_THAT(device.findings, ::testing::IsEmpty());
    return;
  }
  ASSERT_EQ(device.findings.size(), 1u);
  EXPECT_EQ(device.findings[0].check, *GetParam().breaks);
  EXPECT_EQ(device.findings[0].where, device.name);
  EXPECT_EQ(device.findings[0].queue, 3u);
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Conservation, MisbehavingDeviceTest, ::testing::ValuesIn(kConservation),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Memory, MisbehavingDeviceTest, ::testing::ValuesIn(kMemory), NameOf);

}  // namespace
}  // namespace sim
