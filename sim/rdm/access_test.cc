// Writes and reads: by the device, in pieces, and in software where a device cannot.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using namespace std::chrono_literals;
using fabric::Access;
using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

// The device's features decide the protocol, and nothing else that a program sees.
struct DeviceCase {
  const char* name;
  std::vector<Capability> without;
  std::optional<std::uint64_t> max_rma_bytes;
};

std::vector<DeviceCase> Devices() {
  return {{"complete", {}, {}},
          {"pieces", {}, 5000},
          {"reads_only", {Capability::kRemoteWrite}, {}},  // p4d
          {"writes_only", {Capability::kRemoteRead}, {}},
          {"messages_only", {Capability::kRemoteWrite, Capability::kRemoteRead}, {}},
          {"other_immediates", {Capability::kUnsolicitedImmediate}, {}}};
}

class AccessTest : public ::testing::TestWithParam<DeviceCase> {
 protected:
  static TestBedOptions Options() {
    TestBedOptions options;
    options.alteration.without = GetParam().without;
    options.alteration.max_rma_bytes = GetParam().max_rma_bytes;
    return options;
  }
  AccessTest() : bed_(Options()) {}

  fabric::WriteRequest WriteOf(std::size_t from, std::size_t length, fabric::RemoteBuffer to,
                               std::uint64_t context) {
    return {.source = bed_.a().Local(from, length),
            .target = to,
            .peer = bed_.a().peers[1],
            .context = Context{context}};
  }
  ErrorCode Write(const fabric::WriteRequest& request) {
    return bed_.Post([&] { return bed_.a().endpoint->Write(request); });
  }
  ErrorCode Read(std::size_t to, std::size_t length, fabric::RemoteBuffer from,
                 std::uint64_t context) {
    const fabric::ReadRequest request{.target = bed_.a().Local(to, length),
                                      .source = from,
                                      .peer = bed_.a().peers[1],
                                      .context = Context{context}};
    return bed_.Post([&] { return bed_.a().endpoint->Read(request); });
  }
  std::unique_ptr<fabric::MemoryRegion> RegisterAtB(Access access, std::size_t length = 100000) {
    return bed_.b()
        .domain
        ->RegisterMemory({.data = bed_.b().memory.data(), .length_bytes = length, .access = access})
        .value();
  }

  TestBed bed_;
};
INSTANTIATE_TEST_SUITE_P(Devices, AccessTest, ::testing::ValuesIn(Devices()),
                         [](const auto& device) { return device.param.name; });

constexpr std::size_t kLengths[] = {0,     1,     4999,  5000,   5001,    8760,   8761,
                                    20000, 65535, 65536, 300000, 1 << 20, 2500000};

TEST_P(AccessTest, WritesOfEveryLengthLand) {
  std::uint64_t context = 0;
  for (const std::size_t length : kLengths) {
    SCOPED_TRACE(length);
    for (const bool announced : {false, true}) {
      ++context;
      std::fill(bed_.b().memory.begin(), bed_.b().memory.end(), std::byte{0});
      Fill(bed_.a().Bytes(5, length), static_cast<std::uint32_t>(context));
      fabric::WriteRequest write = WriteOf(5, length, bed_.b().Remote(777), context);
      if (announced) write.immediate = static_cast<std::uint32_t>(context);
      ASSERT_EQ(Write(write), ErrorCode::kOk);
      if (announced) {
        const Completion seen = bed_.TakeRemoteWrite(bed_.b());
        EXPECT_EQ(seen.immediate, context);
        EXPECT_EQ(seen.length_bytes, length);
        EXPECT_EQ(seen.context, std::nullopt);
        EXPECT_TRUE(Holds(bed_.b().Bytes(777, length), static_cast<std::uint32_t>(context)));
      }
      const Completion done = bed_.Take(bed_.a(), context);
      EXPECT_EQ(done.error, ErrorCode::kOk);
      EXPECT_EQ(done.kind, fabric::OperationKind::kWrite);
      bed_.PumpFor(1ms);
      EXPECT_TRUE(Holds(bed_.b().Bytes(777, length), static_cast<std::uint32_t>(context)));
      EXPECT_TRUE(Untouched(bed_.b().Bytes(0, 777)));
      EXPECT_TRUE(Untouched(bed_.b().Bytes(777 + length, 1000)));
    }
  }
  EXPECT_TRUE(bed_.b().completions.empty());
}

TEST_P(AccessTest, ReadsOfEveryLengthBringTheirBytes) {
  std::uint64_t context = 0;
  for (const std::size_t length : kLengths) {
    SCOPED_TRACE(length);
    ++context;
    std::fill(bed_.a().memory.begin(), bed_.a().memory.end(), std::byte{0});
    Fill(bed_.b().Bytes(50, length), static_cast<std::uint32_t>(context));
    ASSERT_EQ(Read(777, length, bed_.b().Remote(50), context), ErrorCode::kOk);
    const Completion done = bed_.Take(bed_.a(), context);
    EXPECT_EQ(done.error, ErrorCode::kOk);
    EXPECT_EQ(done.kind, fabric::OperationKind::kRead);
    EXPECT_TRUE(Holds(bed_.a().Bytes(777, length), static_cast<std::uint32_t>(context)));
    EXPECT_TRUE(Untouched(bed_.a().Bytes(0, 777)));
    EXPECT_TRUE(Untouched(bed_.a().Bytes(777 + length, 1000)));
  }
  EXPECT_TRUE(bed_.b().completions.empty());
}

TEST_P(AccessTest, ManyAtOnce) {
  constexpr std::uint64_t kEach = 60;
  constexpr std::size_t kLength = 30000;
  Fill(bed_.a().Bytes(0, kEach * kLength), 3);
  Fill(bed_.b().Bytes(4 << 20, kEach * kLength), 9);
  for (std::uint64_t i = 0; i < kEach; ++i) {
    fabric::WriteRequest write = WriteOf(i * kLength, kLength, bed_.b().Remote(i * kLength), i);
    write.immediate = 1;
    ASSERT_EQ(Write(write), ErrorCode::kOk);
    ASSERT_EQ(
        Read((4 << 20) + i * kLength, kLength, bed_.b().Remote((4 << 20) + i * kLength), 1000 + i),
        ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < kEach; ++i) {
    EXPECT_EQ(bed_.TakeRemoteWrite(bed_.b()).error, ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.a(), i).error, ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.a(), 1000 + i).error, ErrorCode::kOk);
  }
  EXPECT_TRUE(Holds(bed_.b().Bytes(0, kEach * kLength), 3));
  EXPECT_TRUE(Holds(bed_.a().Bytes(4 << 20, kEach * kLength), 9));
}

TEST_P(AccessTest, TargetRefusesWhatItDidNotGive) {
  auto readable = RegisterAtB(Access::kRemoteRead);
  auto writable = RegisterAtB(Access::kRemoteWrite);
  const auto moved = [](const fabric::MemoryRegion& region, std::uint64_t bytes) {
    fabric::RemoteBuffer place = region.remote();
    place.address += bytes;
    return place;
  };
  fabric::RemoteBuffer guess = writable->remote();
  guess.key ^= 0x155;
  std::uint64_t context = 0;
  for (const std::size_t length : {100u, 20000u, 90000u}) {
    SCOPED_TRACE(length);
    for (const fabric::RemoteBuffer& place :
         {readable->remote(), guess, moved(*writable, 100001 - length),
          moved(*writable, std::uint64_t{0} - 1), moved(*writable, UINT64_MAX - 50)}) {
      fabric::WriteRequest write = WriteOf(0, length, place, ++context);
      write.immediate = 5;
      ASSERT_EQ(Write(write), ErrorCode::kOk);
      EXPECT_EQ(bed_.Take(bed_.a(), context).error, ErrorCode::kRemoteAccess);
    }
    for (const fabric::RemoteBuffer& place :
         {writable->remote(), guess, moved(*readable, 100001 - length)}) {
      ASSERT_EQ(Read(0, length, place, ++context), ErrorCode::kOk);
      EXPECT_EQ(bed_.Take(bed_.a(), context).error, ErrorCode::kRemoteAccess);
    }
  }
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_TRUE(Untouched(bed_.a().memory));
}

TEST_P(AccessTest, OwnMemoryMustBeRegisteredAndForReadsToBeWritten) {
  auto region = bed_.a()
                    .domain
                    ->RegisterMemory({.data = bed_.a().memory.data(),
                                      .length_bytes = 99,
                                      .access = Access::kSend | Access::kWrite})
                    .value();
  Fill(bed_.b().memory, 3);
  const std::vector<std::byte> before = bed_.b().memory;
  std::uint64_t context = 0;
  for (const std::size_t length : {100u, 20000u, 90000u}) {
    fabric::WriteRequest write = WriteOf(0, 0, bed_.b().Remote(0), ++context);
    write.source = region->Local(0, length);  // its end is outside
    ASSERT_EQ(Write(write), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.a(), context).error, ErrorCode::kLocalAccess);
    const fabric::ReadRequest read{.target = region->Local(0, 99),
                                   .source = bed_.b().Remote(0),
                                   .peer = bed_.a().peers[1],
                                   .context = Context{++context}};
    ASSERT_EQ(bed_.Post([&] { return bed_.a().endpoint->Read(read); }), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.a(), context).error, ErrorCode::kLocalAccess);
  }
  EXPECT_TRUE(Untouched(bed_.a().memory));
  EXPECT_TRUE(bed_.b().memory == before);
}

TEST_P(AccessTest, RegionMayCloseInFlight) {
  for (const std::size_t length : {8000u, 60000u, 2000000u}) {
    SCOPED_TRACE(length);
    for (const auto delay : {1us, 20us, 60us}) {
      std::fill(bed_.b().memory.begin(), bed_.b().memory.end(), std::byte{0});
      Fill(bed_.a().Bytes(0, length), 7);
      auto region = RegisterAtB(Access::kRemoteWrite, 4 << 20);
      bed_.Connect();
      ASSERT_EQ(Write(WriteOf(0, length, region->remote(), 1)), ErrorCode::kOk);
      bed_.PumpFor(delay);
      region.reset();
      const std::vector<std::byte> then = bed_.b().memory;
      const Completion done = bed_.Take(bed_.a(), 1);
      EXPECT_TRUE(done.ok() || done.error == ErrorCode::kRemoteAccess) << Name(done.error);
      EXPECT_EQ(done.ok(), Holds(bed_.b().Bytes(0, length), 7));
      EXPECT_TRUE(bed_.b().memory == then);
    }
  }
}

TEST_P(AccessTest, SourceMayCloseInFlight) {
  for (const std::size_t length : {8000u, 60000u, 2000000u}) {
    SCOPED_TRACE(length);
    for (const auto delay : {1us, 20us, 60us}) {
      auto region = bed_.a()
                        .domain
                        ->RegisterMemory({.data = bed_.a().memory.data(),
                                          .length_bytes = bed_.a().memory.size()})
                        .value();
      bed_.Connect();
      fabric::WriteRequest write = WriteOf(0, 0, bed_.b().Remote(0), 1);
      write.source = region->Local(0, length);
      ASSERT_EQ(Write(write), ErrorCode::kOk);
      bed_.PumpFor(delay);
      region.reset();
      const Completion done = bed_.Take(bed_.a(), 1);
      EXPECT_TRUE(done.ok() || done.error == ErrorCode::kLocalAccess) << Name(done.error);
    }
  }
  bed_.PumpFor(2ms);
  EXPECT_TRUE(bed_.a().completions.empty());
}

TEST_P(AccessTest, InjectedWriteNeedsAHandshakeFirst) {
  std::vector<std::byte> private_memory(4096);
  Fill(private_memory, 3);
  fabric::WriteRequest write = WriteOf(0, 0, bed_.b().Remote(10), 1);
  write.source = {private_memory.data(), 4096, 0};
  write.inject = true;
  EXPECT_EQ(bed_.a().endpoint->Write(write), ErrorCode::kAgain);
  ASSERT_EQ(Write(write), ErrorCode::kOk);  // asking for it made it come
  Fill(private_memory, 100);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
  EXPECT_TRUE(Holds(bed_.b().Bytes(10, 4096), 3));
  write.source.length_bytes = 4097;
  EXPECT_EQ(bed_.a().endpoint->Write(write), ErrorCode::kMessageTooLong);
}

// Operations in software need the target's program; operations of the device do not.
TEST_P(AccessTest, OnlyEmulationNeedsTheTargetsProgram) {
  bed_.Connect();
  const std::uint64_t before = bed_.b().statistics().emulated_writes;
  Fill(bed_.a().Bytes(0, 3000), 7);
  ASSERT_EQ(bed_.a().endpoint->Write(WriteOf(0, 3000, bed_.b().Remote(0), 1)), ErrorCode::kOk);
  const coro::Time end = bed_.world().Now() + 5ms;
  while (bed_.world().Now() < end) {  // b does not read its queue
    bed_.a().Poll();
    bed_.world().WaitUntil(bed_.world().Now() + 10us);
  }
  const std::vector<Capability>& without = GetParam().without;
  const bool by_device =
      std::find(without.begin(), without.end(), Capability::kRemoteWrite) == without.end();
  EXPECT_EQ(bed_.a().completions.size(), by_device ? 1u : 0u);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
  EXPECT_TRUE(Holds(bed_.b().Bytes(0, 3000), 7));
  EXPECT_EQ(bed_.b().statistics().emulated_writes - before, by_device ? 0u : 1u);
}

// Only features that both ends have count.
TEST(MixedDevicesTest, HandshakeTellsWhatThePeerCanDo) {
  struct Mixed {
    Capability lacking;
    std::uint64_t emulated_writes;  // of two, one of them with an immediate
    std::uint64_t emulated_reads;   // of one
  };
  for (const Mixed& mixed :
       std::vector<Mixed>{{Capability::kUnsolicitedImmediate, 1, 0},  // on disagreement: emulated
                          {Capability::kRemoteWrite, 2, 0},
                          {Capability::kRemoteRead, 0, 1}}) {
    for (const std::size_t machine : {0u, 1u}) {
      TestBedOptions options;
      options.alterations.resize(2);
      options.alterations[machine].without = {mixed.lacking};
      TestBed bed(options);
      fabric::WriteRequest write{.source = bed.a().Local(0, 100),
                                 .target = bed.b().Remote(0),
                                 .peer = bed.a().peers[1],
                                 .context = Context{1}};
      ASSERT_EQ(bed.a().endpoint->Write(write), ErrorCode::kOk);
      write.immediate = 3;
      write.context = Context{2};
      ASSERT_EQ(bed.a().endpoint->Write(write), ErrorCode::kOk);
      const fabric::ReadRequest read{.target = bed.a().Local(0, 100),
                                     .source = bed.b().Remote(0),
                                     .peer = bed.a().peers[1],
                                     .context = Context{3}};
      ASSERT_EQ(bed.a().endpoint->Read(read), ErrorCode::kOk);
      for (std::uint64_t context = 1; context <= 3; ++context) {
        EXPECT_EQ(bed.Take(bed.a(), context).error, ErrorCode::kOk);
      }
      EXPECT_EQ(bed.TakeRemoteWrite(bed.b()).immediate, 3u);
      EXPECT_EQ(bed.b().statistics().emulated_writes, mixed.emulated_writes);
      EXPECT_EQ(bed.b().statistics().emulated_reads, mixed.emulated_reads);
    }
  }
}

}  // namespace
}  // namespace drydock::sim::rdm
