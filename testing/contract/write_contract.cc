// Writes to a peer's memory, and the immediates that announce them.

#include <cstdint>
#include <vector>

#include "testing/contract/contract_test.h"

namespace contract {
namespace {

using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;

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

}  // namespace
}  // namespace contract
