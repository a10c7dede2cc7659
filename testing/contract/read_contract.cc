// Reads from a peer's memory.

#include <cstdint>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;

class ReadContract : public ContractTest {};

TEST_F(ReadContract, BytesComeFromWhereTheyLie) {
  Fill(Bytes(target_, 777, 5000), 7);
  ASSERT_EQ(Read(100, 5000, target_.Remote(777), 1), ErrorCode::kOk);
  const Completion done = Take(initiator_, 1);
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(done.kind, OperationKind::kRead);
  EXPECT_TRUE(Holds(Bytes(initiator_, 100, 5000), 7));
  EXPECT_TRUE(Untouched(Bytes(initiator_, 0, 100)));
  EXPECT_TRUE(Untouched(Bytes(initiator_, 5100, kMemoryBytes - 5100)));
}

// The completion comes after the last byte, whatever the size.
TEST_F(ReadContract, CompletionComesAfterAllBytes) {
  std::uint8_t round = 1;
  for (const std::size_t length : {1u, 64u, 4096u, 8928u, 8929u, 65536u, 1u << 20}) {
    Fill(Bytes(target_, 0, length), round);
    ASSERT_EQ(Read(0, length, target_.Remote(0), round), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, round).ok());
    EXPECT_TRUE(Holds(Bytes(initiator_, 0, length), round)) << length;
    ++round;
  }
}

TEST_F(ReadContract, EmptyReadCompletesAndChangesNothing) {
  Fill(target_.memory, 1);
  ASSERT_EQ(Read(0, 0, target_.Remote(0), 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_TRUE(Untouched(initiator_.memory));
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(ReadContract, LastByteOfARegionCanBeRead) {
  auto region = Register(target_, 1000, 20000, fabric::Access::kRemoteRead);
  fabric::RemoteBuffer end = region->remote();
  end.address += 20000 - 9000;
  Fill(Bytes(target_, 1000 + 11000, 9000), 3);
  ASSERT_EQ(Read(0, 9000, end, 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_TRUE(Holds(Bytes(initiator_, 0, 9000), 3));
}

TEST_F(ReadContract, TargetNoticesNothing) {
  Fill(target_.memory, 4);
  ASSERT_EQ(Recv(0, 100, 5), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(Read(0, i * 3000, target_.Remote(0), i), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, i).ok());
  }
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Holds(target_.memory, 4));
}

TEST_F(ReadContract, ReadsBackWhatWasWritten) {
  Fill(Bytes(initiator_, 0, 30000), 6);
  ASSERT_EQ(Write(0, 30000, target_.Remote(5), 1, 1), ErrorCode::kOk);
  // The bytes are there when the target has seen the immediate; our own completion says less.
  TakeRemoteWrite(target_);
  ASSERT_EQ(Read(40000, 30000, target_.Remote(5), 2), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 2).ok());
  EXPECT_TRUE(Holds(Bytes(initiator_, 40000, 30000), 6));
}

TEST_F(ReadContract, ManyReadsEachGetTheirOwnBytes) {
  constexpr std::size_t kReads = 200, kLength = 5000;
  for (std::size_t i = 0; i < kReads; ++i) {
    Fill(Bytes(target_, i * kLength, kLength), static_cast<std::uint8_t>(i));
  }
  for (std::size_t i = 0; i < kReads; ++i) {
    const std::size_t place = i * 7 % kReads * kLength;
    ASSERT_EQ(Read(place, kLength, target_.Remote(i * kLength), i), ErrorCode::kOk);
  }
  for (std::size_t i = 0; i < kReads; ++i) {
    EXPECT_TRUE(Take(initiator_, i).ok());
    const std::size_t place = i * 7 % kReads * kLength;
    EXPECT_TRUE(Holds(Bytes(initiator_, place, kLength), static_cast<std::uint8_t>(i))) << i;
  }
}

}  // namespace
}  // namespace drydock::contract
