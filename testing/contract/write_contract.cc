// Writes to a peer's memory, and the immediates that announce them.

#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;
using fabric::WriteRequest;

class WriteContract : public ContractTest {};

TEST_F(WriteContract, BytesArriveWhereTheyWereSent) {
  Fill(Bytes(initiator_, 100, 5000), 7);
  ASSERT_EQ(Write(100, 5000, target_.Remote(777), 1, 42), ErrorCode::kOk);
  const Completion done = Take(initiator_, 1);
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(done.kind, OperationKind::kWrite);
  const Completion seen = TakeRemoteWrite(target_);
  EXPECT_TRUE(seen.ok());
  EXPECT_TRUE(Holds(Bytes(target_, 777, 5000), 7));
  EXPECT_TRUE(Untouched(Bytes(target_, 0, 777)));
  EXPECT_TRUE(Untouched(Bytes(target_, 5777, kMemoryBytes - 5777)));
}

// A target that has seen the immediate may read every byte of that write: whatever its size.
TEST_F(WriteContract, ImmediateComesAfterAllBytesOfItsWrite) {
  std::uint32_t round = 0;
  for (const std::size_t length : {1u, 64u, 4096u, 8928u, 8929u, 65536u, 1u << 20}) {
    Fill(Bytes(initiator_, 0, length), static_cast<std::uint8_t>(round));
    ASSERT_EQ(Write(0, length, target_.Remote(0), round, round), ErrorCode::kOk);
    const Completion seen = TakeRemoteWrite(target_);
    EXPECT_EQ(seen.immediate, round);
    EXPECT_TRUE(Holds(Bytes(target_, 0, length), static_cast<std::uint8_t>(round))) << length;
    EXPECT_TRUE(Take(initiator_, round).ok());
    ++round;
  }
}

TEST_F(WriteContract, ScatteredWritesEachLandInTheirPlace) {
  constexpr std::size_t kWrites = 100, kStride = 10007, kLength = 9001;
  for (std::size_t i = 0; i < kWrites; ++i) {
    Fill(Bytes(initiator_, i * kStride, kLength), static_cast<std::uint8_t>(i));
    const std::size_t place = (i * 37 % kWrites) * kStride;
    ASSERT_EQ(Write(i * kStride, kLength, target_.Remote(place), i, 1), ErrorCode::kOk);
  }
  for (std::size_t i = 0; i < kWrites; ++i) TakeRemoteWrite(target_);
  for (std::size_t i = 0; i < kWrites; ++i) {
    const std::size_t place = (i * 37 % kWrites) * kStride;
    EXPECT_TRUE(Holds(Bytes(target_, place, kLength), static_cast<std::uint8_t>(i))) << i;
    EXPECT_TRUE(Untouched(Bytes(target_, place + kLength, kStride - kLength))) << i;
  }
}

TEST_F(WriteContract, LastByteOfARegionCanBeWritten) {
  auto region = Register(target_, 1000, 20000, fabric::Access::kRemoteWrite);
  fabric::RemoteBuffer end = region->remote();
  end.address += 20000 - 9000;
  Fill(Bytes(initiator_, 0, 9000), 3);
  ASSERT_EQ(Write(0, 9000, end, 1, 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  TakeRemoteWrite(target_);
  EXPECT_TRUE(Holds(Bytes(target_, 1000 + 11000, 9000), 3));
  EXPECT_TRUE(Untouched(Bytes(target_, 21000, 1000)));
}

// The way to say something without writing anything.
TEST_F(WriteContract, EmptyWriteCarriesItsImmediate) {
  ASSERT_EQ(Write(0, 0, target_.Remote(0), 1, 77), ErrorCode::kOk);
  ASSERT_EQ(Write(kMemoryBytes, 0, target_.Remote(kMemoryBytes), 2, 77), ErrorCode::kOk);
  for (std::uint64_t context = 1; context <= 2; ++context) {
    EXPECT_TRUE(Take(initiator_, context).ok());
    const Completion seen = TakeRemoteWrite(target_);
    EXPECT_EQ(seen.immediate, 77u);
    EXPECT_EQ(seen.length_bytes, 0u);
  }
  EXPECT_TRUE(Untouched(target_.memory));
}

TEST_F(WriteContract, EmptyWriteWithoutImmediateCompletes) {
  ASSERT_EQ(Write(0, 0, target_.Remote(0), 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(WriteContract, WriteWithoutImmediateIsSilentThere) {
  for (const std::size_t length : {1u, 4096u, 100000u}) {
    Fill(Bytes(initiator_, 0, length), 9);
    ASSERT_EQ(Write(0, length, target_.Remote(0), length), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, length).ok());
    EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(target_, 0, length), 9); })) << length;
  }
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(WriteContract, EveryImmediateArrivesExactlyOnce) {
  constexpr std::uint32_t kWrites = 500;
  std::vector<int> seen(kWrites, 0);
  for (std::uint32_t i = 0; i < kWrites; ++i) {
    ASSERT_EQ(Write(i, i % 3 * 5000, target_.Remote(i), i, i), ErrorCode::kOk);
  }
  for (std::uint32_t i = 0; i < kWrites; ++i) {
    const std::uint32_t immediate = TakeRemoteWrite(target_).immediate.value_or(kWrites);
    ASSERT_LT(immediate, kWrites);
    ++seen[immediate];
  }
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_EQ(seen, std::vector<int>(kWrites, 1));
}

// Its completion gives the source back to the program, even where the bytes are not at the target
// yet.
TEST_F(WriteContract, SourceMayChangeAfterItsCompletion) {
  std::uint32_t round = 0;
  for (const std::size_t length : {16u, 5000u, 300000u}) {
    Fill(Bytes(initiator_, 0, length), 1);
    ASSERT_EQ(Write(0, length, target_.Remote(0), round, round), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, round).ok());
    Fill(Bytes(initiator_, 0, length), 100);
    TakeRemoteWrite(target_);
    EXPECT_TRUE(Holds(Bytes(target_, 0, length), 1)) << length;
    ++round;
  }
}

// The caller's request is free at once, in flight or not; only the memory that it names must stay.
TEST_F(WriteContract, RequestIsCopiedWhenItIsPosted) {
  Fill(Bytes(initiator_, 0, 60000), 5);
  auto request = std::make_unique<WriteRequest>(WriteOf(0, 60000, target_.Remote(0), Context{1}));
  request->immediate = 8;
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Write(*request); }), ErrorCode::kOk);
  *request = WriteOf(70000, 1, target_.Remote(500000), Context{2});
  request.reset();
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 8u);
  EXPECT_TRUE(Holds(Bytes(target_, 0, 60000), 5));
  EXPECT_TRUE(Untouched(Bytes(target_, 60000, kMemoryBytes - 60000)));
}

// Where writes are not ordered, any of them may be the last to land.
TEST_F(WriteContract, LaterWriteWinsWhereWritesAreOrdered) {
  constexpr std::uint8_t kWrites = 40;
  for (std::uint8_t i = 1; i <= kWrites; ++i) {
    initiator_.memory[i] = std::byte{i};
    ASSERT_EQ(Write(i, 1, target_.Remote(0), i, i), ErrorCode::kOk);
  }
  for (int i = 0; i < kWrites; ++i) TakeRemoteWrite(target_);
  const auto last = static_cast<std::uint8_t>(target_.memory[0]);
  EXPECT_GE(last, Has(Capability::kWriteOrder) ? kWrites : 1);
  EXPECT_LE(last, kWrites);
}

}  // namespace
}  // namespace drydock::contract
