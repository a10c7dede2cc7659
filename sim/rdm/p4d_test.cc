// Machines whose NICs do not have all of RDMA: those of p4d read and do not write, those of g5 do
// neither. Software does the operations that the device lacks.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Access;
using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

using Machine = std::tuple<const char*, std::uint64_t>;  // profile, seed

class P4dTest : public ::testing::TestWithParam<Machine> {
 protected:
  P4dTest() : bed_({.seed = std::get<1>(GetParam()), .profile = std::get<0>(GetParam())}) {}

  bool reads() const { return std::string(std::get<0>(GetParam())) == "p4d"; }

  Completion Write(std::size_t length, fabric::RemoteBuffer to) {
    const fabric::WriteRequest write{.source = bed_.a().Local(0, length),
                                     .target = to,
                                     .peer = bed_.a().peers[1],
                                     .immediate = 7,
                                     .context = Context{1}};
    EXPECT_EQ(bed_.Post([&] { return bed_.a().endpoint->Write(write); }), ErrorCode::kOk);
    return bed_.Take(bed_.a(), 1);
  }
  Completion Read(std::size_t length, fabric::RemoteBuffer from) {
    const fabric::ReadRequest read{.target = bed_.a().Local(4 << 20, length),
                                   .source = from,
                                   .peer = bed_.a().peers[1],
                                   .context = Context{2}};
    EXPECT_EQ(bed_.Post([&] { return bed_.a().endpoint->Read(read); }), ErrorCode::kOk);
    return bed_.Take(bed_.a(), 2);
  }

  TestBed bed_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, P4dTest,
                         ::testing::Combine(::testing::Values("p4d", "g5"),
                                            ::testing::Range<std::uint64_t>(1, 4)));

TEST_P(P4dTest, WritesAndReadsOfEveryLength) {
  std::uint32_t pattern = 0;
  for (const std::size_t length : {0u, 1u, 8760u, 8761u, 100000u, 3000000u}) {
    SCOPED_TRACE(length);
    Fill(bed_.a().Bytes(0, length), ++pattern);
    EXPECT_EQ(Write(length, bed_.b().Remote(100)).error, ErrorCode::kOk);
    const Completion announced = bed_.TakeRemoteWrite(bed_.b());
    EXPECT_EQ(announced.immediate, 7u);
    EXPECT_EQ(announced.length_bytes, length);
    EXPECT_EQ(announced.source, bed_.b().peers[0]);
    EXPECT_TRUE(Holds(bed_.b().Bytes(100, length), pattern));
    EXPECT_EQ(Read(length, bed_.b().Remote(100)).error, ErrorCode::kOk);
    EXPECT_TRUE(Holds(bed_.a().Bytes(4 << 20, length), pattern));
  }
  // A NIC that could do more, or less, would be of another machine.
  EXPECT_EQ(bed_.b().statistics().emulated_writes, 6u);
  EXPECT_EQ(bed_.b().statistics().emulated_reads, reads() ? 0u : 6u);
}

// The device reads by itself: the target's program need not look. Its writes are the target's work.
TEST_P(P4dTest, OnlyWhatTheDeviceDoesNeedsNoProgramAtTheTarget) {
  ASSERT_EQ(Read(8, bed_.b().Remote(0)).error, ErrorCode::kOk);  // they have shaken hands
  Fill(bed_.b().Bytes(0, 100000), 5);
  Fill(bed_.a().Bytes(0, 100000), 7);
  const fabric::ReadRequest read{.target = bed_.a().Local(4 << 20, 100000),
                                 .source = bed_.b().Remote(0),
                                 .peer = bed_.a().peers[1],
                                 .context = Context{10}};
  const fabric::WriteRequest write{.source = bed_.a().Local(0, 100000),
                                   .target = bed_.b().Remote(1 << 20),
                                   .peer = bed_.a().peers[1],
                                   .context = Context{11}};
  ASSERT_EQ(bed_.a().endpoint->Read(read), ErrorCode::kOk);
  ASSERT_EQ(bed_.a().endpoint->Write(write), ErrorCode::kOk);
  const coro::Time end = bed_.world().Now() + std::chrono::milliseconds(5);
  while (bed_.world().Now() < end) {  // b does not read its queue
    bed_.a().Poll();
    bed_.world().WaitUntil(bed_.world().Now() + std::chrono::microseconds(10));
  }
  ASSERT_EQ(bed_.a().completions.size(), reads() ? 1u : 0u);
  EXPECT_EQ(bed_.Take(bed_.a(), 10).error, ErrorCode::kOk);
  EXPECT_TRUE(Holds(bed_.a().Bytes(4 << 20, 100000), 5));
  EXPECT_EQ(bed_.Take(bed_.a(), 11).error, ErrorCode::kOk);
  EXPECT_TRUE(Holds(bed_.b().Bytes(1 << 20, 100000), 7));
}

TEST_P(P4dTest, MessagesAndAtomics) {
  for (const std::size_t length : {10u, 60000u, 2000000u}) {
    Fill(bed_.a().Bytes(0, length), 3);
    ASSERT_EQ(bed_.Recv(0, length, 3), ErrorCode::kOk);
    ASSERT_EQ(bed_.Send(0, length, 4), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), 3).length_bytes, length);
    EXPECT_EQ(bed_.Take(bed_.a(), 4).error, ErrorCode::kOk);
    EXPECT_TRUE(Holds(bed_.b().Bytes(0, length), 3));
  }
  const std::uint64_t two = 2, five = 5;
  std::memcpy(bed_.a().memory.data(), &two, 8);
  std::memcpy(bed_.b().memory.data(), &five, 8);
  const fabric::AtomicRequest atomic{.operand = bed_.a().Local(0, 8),
                                     .target = bed_.b().Remote(0),
                                     .peer = bed_.a().peers[1],
                                     .context = Context{5}};
  ASSERT_EQ(bed_.Post([&] { return bed_.a().atomics().Atomic(atomic); }), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 5).error, ErrorCode::kOk);
  std::uint64_t sum = 0;
  std::memcpy(&sum, bed_.b().memory.data(), 8);
  EXPECT_EQ(sum, 7u);
}

// Software asks for the right that the program gave; a NIC that can read takes the right to send
// for it (ofiwg/libfabric prov/efa/src/efa_mr.c).
TEST_P(P4dTest, RightsAreThoseThatTheProgramGave) {
  EXPECT_EQ(bed_.b().domain->nic().capabilities.Has(Capability::kReadRights), !reads());
  const auto region = [&](Access access) {
    return bed_.b()
        .domain
        ->RegisterMemory({.data = bed_.b().memory.data(), .length_bytes = 1000, .access = access})
        .value();
  };
  const auto sent_from = region(Access::kLocal | Access::kRemoteWrite);
  EXPECT_EQ(sent_from->access(), Access::kLocal | Access::kRemoteWrite);
  EXPECT_EQ(Read(100, sent_from->remote()).error,
            reads() ? ErrorCode::kOk : ErrorCode::kRemoteAccess);
  const auto written = region(Access::kRemoteWrite);
  EXPECT_EQ(Read(100, written->remote()).error, ErrorCode::kRemoteAccess);
  EXPECT_EQ(Write(100, sent_from->remote()).error, ErrorCode::kOk);
  const auto readable = region(Access::kRemoteRead);
  EXPECT_EQ(Read(100, readable->remote()).error, ErrorCode::kOk);
  EXPECT_EQ(Write(100, readable->remote()).error, ErrorCode::kRemoteAccess);
  TestBed complete;
  EXPECT_FALSE(complete.b().domain->nic().capabilities.Has(Capability::kReadRights));
}

}  // namespace
}  // namespace drydock::sim::rdm
