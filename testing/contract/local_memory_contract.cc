// The initiator's own registrations: a request may use only what its local key covers. A program
// registers memory for what it does with it; no backend looks at more of that than whether the
// memory may be written (on EFA the device has no other right: libfabric prov/efa/src/efa_mr.c).
//
// A backend that reports remote refusals checks local keys as well. Others may not look at them:
// then the request does what it says; if they do look, nothing happens.

#include <cstdint>
#include <memory>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Access;
using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::LocalBuffer;

class LocalMemoryContract : public ContractTest {
 protected:
  static constexpr std::uint64_t kFaulty = 1;
  static constexpr std::size_t kLength = 2000;

  void Prepare() override { Fill(Bytes(initiator_, 0, 3 * kLength), 7); }

  // `buffer` is not usable as the source of a write.
  void ExpectWriteFault(LocalBuffer buffer) {
    fabric::WriteRequest request = WriteOf(0, 0, target_.Remote(0), Context{kFaulty});
    request.source = buffer;
    request.immediate = 5;
    ExpectFault(Post([&] { return initiator_.endpoint->Write(request); }),
                [&] { return TakeRemoteWrite(target_).ok(); });
  }

  void ExpectFault(ErrorCode posted, const std::function<bool()>& arrives) {
    const ErrorCode error = posted == ErrorCode::kOk ? Take(initiator_, kFaulty).error : posted;
    if (Has(Trait::kRemoteErrors) || error != ErrorCode::kOk) {
      EXPECT_EQ(error, ErrorCode::kLocalAccess);
      PumpQuietly();
      EXPECT_TRUE(target_.completions.empty());
      EXPECT_TRUE(Untouched(target_.memory));
    } else {
      EXPECT_TRUE(arrives());
    }
  }
};

TEST_F(LocalMemoryContract, AnyRegionMayBeTheSourceOfAWrite) {
  auto region = Register(initiator_, 0, kLength, Access::kReceive | Access::kRead);
  fabric::WriteRequest request = WriteOf(0, 0, target_.Remote(0), Context{kFaulty});
  request.source = region->Local();
  request.immediate = 5;
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Write(request); }), ErrorCode::kOk);
  EXPECT_TRUE(TakeRemoteWrite(target_).ok());
  EXPECT_TRUE(Take(initiator_, kFaulty).ok());
  EXPECT_TRUE(Holds(Bytes(target_, 0, kLength), 7));
}

TEST_F(LocalMemoryContract, AnyRegionMayBeTheSourceOfASend) {
  auto region = Register(initiator_, 0, kLength, Access::kReceive | Access::kRead);
  fabric::SendRequest request = SendOf(0, 0, Context{kFaulty});
  request.buffer = region->Local();
  ASSERT_EQ(Recv(0, kLength, 2), ErrorCode::kOk);
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Send(request); }), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 2).ok());
  EXPECT_TRUE(Take(initiator_, kFaulty).ok());
  EXPECT_TRUE(Holds(Bytes(target_, 0, kLength), 7));
}

constexpr Access kSourcesOnly = Access::kSend | Access::kWrite;
constexpr Access kMayBeWritten[] = {Access::kReceive, Access::kRead, Access::kRemoteWrite};

TEST_F(LocalMemoryContract, TargetOfAReadMustBeOneThatIsWritten) {
  const auto read_into = [&](const fabric::MemoryRegion& region, std::uint64_t context) {
    fabric::ReadRequest request = ReadOf(0, 0, target_.Remote(0), Context{context});
    request.target = region.Local();
    return Post([&] { return initiator_.endpoint->Read(request); });
  };
  auto source = Register(initiator_, 0, kLength, kSourcesOnly);
  ExpectFault(read_into(*source, kFaulty),
              [&] { return Untouched(Bytes(initiator_, 0, kLength)); });
  EXPECT_EQ(Holds(Bytes(initiator_, 0, kLength), 7), Has(Trait::kRemoteErrors));
  Fill(Bytes(target_, 0, kLength), 9);
  for (const Access right : kMayBeWritten) {
    Fill(Bytes(initiator_, 0, kLength), 7);
    auto region = Register(initiator_, 0, kLength, right);
    ASSERT_EQ(read_into(*region, 2), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, 2).ok());
    EXPECT_TRUE(Holds(Bytes(initiator_, 0, kLength), 9));
  }
}

// The message is lost then: the receive that it met is the only one to tell.
TEST_F(LocalMemoryContract, TargetOfAReceiveMustBeOneThatIsWritten) {
  const auto receive_into = [&](const fabric::MemoryRegion& region) {
    const fabric::RecvRequest request{.buffer = region.Local(), .context = Context{2}};
    return Post([&] { return target_.endpoint->Recv(request); });
  };
  for (const Access right : kMayBeWritten) {
    auto region = Register(target_, kLength, kLength, right);
    ASSERT_EQ(receive_into(*region), ErrorCode::kOk);
    ASSERT_EQ(Send(0, kLength, kFaulty), ErrorCode::kOk);
    EXPECT_TRUE(Take(target_, 2).ok());
    EXPECT_TRUE(Take(initiator_, kFaulty).ok());
    EXPECT_TRUE(Holds(Bytes(target_, kLength, kLength), 7));
  }
  auto source = Register(target_, 0, kLength, kSourcesOnly);
  ASSERT_EQ(receive_into(*source), ErrorCode::kOk);
  ASSERT_EQ(Send(0, kLength, kFaulty), ErrorCode::kOk);
  const bool taken = Take(target_, 2).ok();
  EXPECT_FALSE(taken && Has(Trait::kRemoteErrors));
  EXPECT_EQ(Holds(Bytes(target_, 0, kLength), 7), taken);
  EXPECT_EQ(Untouched(Bytes(target_, 0, kLength)), !taken);
}

TEST_F(LocalMemoryContract, RangeMustLieWithinItsRegion) {
  auto region = Register(initiator_, 1000, kLength, Access::kAll);
  LocalBuffer buffer = region->Local();
  buffer.length_bytes += 1;
  ExpectWriteFault(buffer);
}

TEST_F(LocalMemoryContract, RangeMustBeginWithinItsRegion) {
  auto region = Register(initiator_, 1000, kLength, Access::kAll);
  LocalBuffer buffer = region->Local();
  buffer.data -= 1;
  ExpectWriteFault(buffer);
}

TEST_F(LocalMemoryContract, ClosedRegionCannotBeASource) {
  auto region = Register(initiator_, 0, kLength, Access::kAll);
  const LocalBuffer buffer = region->Local();
  EXPECT_THAT(region->Close(), testing_matchers::IsOk());
  ExpectWriteFault(buffer);
}

// ---- Buffers of no region ----

TEST_F(LocalMemoryContract, ReceiveNeedsARegionWherePromised) {
  const auto post = [&](LocalBuffer buffer, fabric::MoreSegments more = {}) {
    const fabric::RecvRequest receive{.buffer = buffer, .context = Context{2}, .more = more};
    return Post([&] { return target_.endpoint->Recv(receive); });
  };
  if (!Has(Capability::kLocalRegistration)) {
    ASSERT_EQ(post({}), ErrorCode::kOk);
    ASSERT_EQ(Send(0, 0, kFaulty), ErrorCode::kOk);
    EXPECT_TRUE(Take(target_, 2).ok());
    return;
  }
  EXPECT_EQ(post({}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(post({target_.memory.data(), kLength}), ErrorCode::kInvalidArgument);
  if (target_.endpoint->limits().receive_segments > 1) {
    const LocalBuffer nothing;
    EXPECT_EQ(post(target_.Local(0, kLength), {&nothing, 1}), ErrorCode::kInvalidArgument);
  }
  ASSERT_EQ(Recv(0, kLength, 3), ErrorCode::kOk);  // the only one that is posted
  ASSERT_EQ(Send(0, kLength, kFaulty), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 3).ok());
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

// Bytes that travel inside the request need none: libfabric takes small messages so without being
// asked, and empty ones always.
TEST_F(LocalMemoryContract, SendBeyondInlineNeedsARegionWherePromised) {
  const bool needed = Has(Capability::kLocalRegistration);
  const std::size_t most = needed ? initiator_.endpoint->limits().inject_bytes : 0;
  const auto post = [&](std::size_t length) {
    fabric::SendRequest send = SendOf(0, 0, Context{kFaulty});
    send.buffer = {initiator_.memory.data(), length};
    return Post([&] { return initiator_.endpoint->Send(send); });
  };
  ASSERT_EQ(Recv(0, kLength, 2), ErrorCode::kOk);
  if (needed) {
    EXPECT_EQ(post(most + 1), ErrorCode::kInvalidArgument);
  }
  ASSERT_EQ(post(most), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 2).length_bytes, most);
  EXPECT_TRUE(Holds(Bytes(target_, 0, most), 7));
  EXPECT_TRUE(Take(initiator_, kFaulty).ok());
}

TEST_F(LocalMemoryContract, AccessWithBytesNeedsARegionWherePromised) {
  fabric::WriteRequest write = WriteOf(0, 0, target_.Remote(0), Context{kFaulty});
  fabric::ReadRequest read = ReadOf(0, 0, target_.Remote(0), Context{2});
  if (Has(Capability::kLocalRegistration)) {
    write.source = read.target = {initiator_.memory.data(), 1};
    EXPECT_EQ(Post([&] { return initiator_.endpoint->Write(write); }), ErrorCode::kInvalidArgument);
    EXPECT_EQ(Post([&] { return initiator_.endpoint->Read(read); }), ErrorCode::kInvalidArgument);
    PumpQuietly();
    EXPECT_TRUE(Untouched(target_.memory));
    EXPECT_TRUE(initiator_.completions.empty());
  }
  write.source = read.target = {};
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Write(write); }), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, kFaulty).ok());
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Read(read); }), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 2).ok());
}

TEST_F(LocalMemoryContract, NextRequestIsUnharmed) {
  auto region = Register(initiator_, 0, kLength, Access::kAll);
  LocalBuffer buffer = region->Local();
  buffer.length_bytes += 1;
  ExpectWriteFault(buffer);
  ASSERT_EQ(Write(0, kLength, target_.Remote(5000), 2, 6), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 6u);
  EXPECT_TRUE(Holds(Bytes(target_, 5000, kLength), 7));
}

}  // namespace
}  // namespace drydock::contract
