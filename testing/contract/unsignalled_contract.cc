// Requests without a context: success is not reported, failure is.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

class UnsignalledContract : public ContractTest {
 protected:
  ErrorCode WriteSilently(std::size_t from, std::size_t length, fabric::RemoteBuffer to) {
    const fabric::WriteRequest request = WriteOf(from, length, to, std::nullopt);
    return Post([&] { return initiator_.endpoint->Write(request); });
  }
};

TEST_F(UnsignalledContract, SuccessIsSilent) {
  Fill(Bytes(initiator_, 0, 100), 3);
  Fill(Bytes(target_, 500, 100), 4);
  const fabric::ReadRequest read = ReadOf(500, 100, target_.Remote(500), std::nullopt);
  const fabric::SendRequest send = SendOf(0, 100, std::nullopt);
  ASSERT_EQ(Recv(200, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(WriteSilently(0, 100, target_.Remote(0)), ErrorCode::kOk);
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Read(read); }), ErrorCode::kOk);
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Send(send); }), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 1).ok());
  EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(target_, 0, 100), 3); }));
  EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(initiator_, 500, 100), 4); }));
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(UnsignalledContract, ReceiveWithoutContextIsSilent) {
  const fabric::RecvRequest silent = RecvOf(0, 100, std::nullopt);
  ASSERT_EQ(Post([&] { return target_.endpoint->Recv(silent); }), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, 100), 3);
  ASSERT_EQ(Send(0, 100, 1, 5), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(target_, 0, 100), 3); }));
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

// The target's news does not depend on whether the initiator wants any.
TEST_F(UnsignalledContract, ImmediateOfASilentWriteArrives) {
  fabric::WriteRequest request = WriteOf(0, 9000, target_.Remote(0), std::nullopt);
  request.immediate = 4;
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Write(request); }), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 4u);
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

// Slots of silent requests come back by reading the queue, though no entry is ever seen.
TEST_F(UnsignalledContract, SilentRequestsFreeTheirSlots) {
  const std::size_t writes = 3 * limits().send_queue_depth;
  for (std::size_t i = 0; i < writes; ++i) {
    ASSERT_EQ(WriteSilently(i % 1000, 1, target_.Remote(i % 1000)), ErrorCode::kOk) << i;
  }
  ASSERT_EQ(Write(0, 1, target_.Remote(0), 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(UnsignalledContract, SilentReceivesFreeTheirSlots) {
  const std::size_t messages = 2 * limits().receive_queue_depth + 1;
  const fabric::RecvRequest silent = RecvOf(0, 1, std::nullopt);
  for (std::size_t i = 0; i < messages; ++i) {
    ASSERT_EQ(Post([&] { return target_.endpoint->Recv(silent); }), ErrorCode::kOk) << i;
    ASSERT_EQ(Send(0, 1, i), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, i).ok());
  }
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(UnsignalledContract, FailureIsToldWithoutAContext) {
  auto region = Register(target_, 0, 100, fabric::Access::kRemoteWrite);
  const fabric::RemoteBuffer gone = region->remote();
  ASSERT_TRUE(region->Close().ok());
  ASSERT_EQ(WriteSilently(0, 100, gone), ErrorCode::kOk);
  const auto& told = initiator_.completions;
  if (Has(Trait::kRemoteErrors)) {
    ASSERT_TRUE(PumpUntil([&] { return !told.empty(); }));
  }
  PumpQuietly();
  ASSERT_LE(told.size(), 1u);
  for (const Completion& failure : told) {
    EXPECT_FALSE(failure.ok());
    EXPECT_EQ(failure.context, std::nullopt);
    EXPECT_EQ(failure.kind, fabric::OperationKind::kWrite);
  }
}

}  // namespace
}  // namespace drydock::contract
