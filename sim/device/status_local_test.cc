// The statuses that an EFA device finds out by itself (ofiwg/libfabric prov/efa/src/efa_errno.h), 0
// to 6, each provoked by its own cause and read from the contract's completion queue. Around each
// failing operation there are others, which must not notice.

#include <array>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/raw_work.h"
#include "drydock/sim/testing/scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::Access;
using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;

namespace efa = fabric::efa_queue;

// Several packets, so that something happens in the middle of it.
constexpr std::size_t kLong = 100 << 10;

// ---- 0 ----

TEST(StatusTest, Ok) {
  Scene s;
  Fill(s.a.Bytes(0, 4096), 1);
  Fill(s.b.Bytes(8192, 4096), 2);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(4096, 4096, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, 2)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 8192, 4096, 3)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 4)), ErrorCode::kOk);
  const std::array kinds = {OperationKind::kWrite, OperationKind::kRead, OperationKind::kSend};
  for (std::uint64_t context = 2; context <= 4; ++context) {
    const Completion completion = s.lab.Take(s.a, context);
    EXPECT_EQ(completion.error, ErrorCode::kOk);
    EXPECT_EQ(completion.provider_error, 0);
    EXPECT_EQ(completion.kind, kinds[context - 2]);
    EXPECT_EQ(completion.length_bytes, 0u);  // as efa-direct reports all its own operations
  }
  EXPECT_EQ(s.lab.Take(s.b, 1).kind, OperationKind::kReceive);
  EXPECT_TRUE(Holds(s.b.Bytes(0, 4096), 1));
  EXPECT_TRUE(Holds(s.a.Bytes(8192, 4096), 2));
  EXPECT_TRUE(Holds(s.b.Bytes(4096, 4096), 1));
  s.ExpectTheOthersUnharmed();
}

// ---- 1: the address handle goes with the work under way ----

TEST(StatusTest, Flushed) {
  Scene s;
  s.PostGood();
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, kLong, kBad)), ErrorCode::kOk);
  ASSERT_TRUE(s.a.peers->Remove(s.a.PeerOf(s.b)).ok());
  s.ExpectOnlyFailure(1, ErrorCode::kCanceled);
}

TEST(StatusTest, FlushedWhileItWaitsForAReceive) {
  Scene s;
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad)), ErrorCode::kOk);
  s.lab.Watch();
  ASSERT_TRUE(s.a.peers->Remove(s.a.PeerOf(s.b)).ok());
  s.ExpectOnlyFailure(1, ErrorCode::kCanceled);
  // No message comes for the receive that was posted too late.
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 1)), ErrorCode::kOk);
  s.lab.ExpectNoMore();
}

TEST(StatusTest, FlushedByAResetOfTheOwnDevice) {
  Scene s;
  ASSERT_EQ(s.b.endpoint->Write(s.b.WriteTo(s.c, 0, kLong, 5)), ErrorCode::kOk);
  s.b.node.Reset();
  EXPECT_EQ(s.lab.Take(s.b, 5).provider_error, 1);
  // Its queue pair is in error for good.
  ASSERT_EQ(s.b.endpoint->Write(s.b.WriteTo(s.c, 0, 100, 6)), ErrorCode::kOk);
  const Completion late = s.lab.Take(s.b, 6);
  EXPECT_EQ(late.provider_error, 1);
  EXPECT_EQ(late.error, ErrorCode::kCanceled);
  s.ExpectTheOthersUnharmed();
}

TEST(StatusTest, FlushedByAResetThoughItsQueueWasDrained) {
  Scene s;
  s.a.nic.admin().DrainQueuePair(s.a.rings().queue_pair());
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad)), ErrorCode::kOk);
  s.a.node.Reset();
  s.TakeFailure(kBad, 1, ErrorCode::kCanceled);
  s.lab.ExpectNoMore();
}

// ---- 2: the work request makes no sense ----

struct Wrong {
  std::string name;
  std::function<void(efa::SendWork&)> work;    // changes the work before encoding
  std::function<void(efa::NarrowWqe&)> bytes;  // changes the encoded bytes
};
void PrintTo(const Wrong& wrong, std::ostream* os) { *os << wrong.name; }

class MalformedStatusTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(MalformedStatusTest, LocalQueuePairInternal) {
  Scene s;
  s.PostGood();
  efa::SendWork work = RawWrite(s.a, s.b, 0, 4096);
  if (GetParam().work) GetParam().work(work);
  void* slot = PlaceRaw(s.a, work);
  if (GetParam().bytes) GetParam().bytes(*static_cast<efa::NarrowWqe*>(slot));
  RingRaw(s.a);
  s.PostGood();
  // It was not posted through the driver: there is no context to give back.
  s.TakeFailure(0, 2, ErrorCode::kDeviceFault);
  EXPECT_EQ(s.a.nic.counters().malformed_work, 1u);
  EXPECT_TRUE(IsZero(s.b.Bytes(0, 4096)));
  s.ExpectTheOthersUnharmed();
}

INSTANTIATE_TEST_SUITE_P(
    Wqe, MalformedStatusTest,
    ::testing::Values(
        Wrong{"WrongPhase", {}, [](efa::NarrowWqe& w) { w.meta.ctrl2 ^= 1; }},
        Wrong{"NotMetaDescriptor", {}, [](efa::NarrowWqe& w) { w.meta.ctrl1 &= 0x7f; }},
        Wrong{"FirstMissing", {}, [](efa::NarrowWqe& w) { w.meta.ctrl2 &= 0xfb; }},
        Wrong{"LastMissing", {}, [](efa::NarrowWqe& w) { w.meta.ctrl2 &= 0xf7; }},
        Wrong{"ReservedBitOfControl1", {}, [](efa::NarrowWqe& w) { w.meta.ctrl1 |= 0x40; }},
        Wrong{"ReservedBitOfControl2", {}, [](efa::NarrowWqe& w) { w.meta.ctrl2 |= 0x80; }},
        Wrong{"ReservedBitOfControl3", {}, [](efa::NarrowWqe& w) { w.meta.ctrl3 |= 4; }},
        Wrong{"ReservedByte", {}, [](efa::NarrowWqe& w) { w.meta.reserved20[5] = 1; }},
        Wrong{"LongRequestId", {}, [](efa::NarrowWqe& w) { w.meta.req_id_ex[0] = 1; }},
        Wrong{"ReservedBitsOfTheLocalKey",
              {},
              [](efa::NarrowWqe& w) { w.data.rma.local.lkey |= 1u << 24; }},
        Wrong{"LengthsDisagree", [](efa::SendWork& w) { w.remote.length = 4095; }, {}},
        Wrong{"TwoSegmentsOfAWrite", {}, [](efa::NarrowWqe& w) { w.meta.length = 2; }},
        Wrong{"NoSegmentOfAWrite", {}, [](efa::NarrowWqe& w) { w.meta.length = 0; }},
        Wrong{"InlineWriteInANarrowEntry", {}, [](efa::NarrowWqe& w) { w.meta.ctrl1 |= 0x20; }},
        Wrong{"ReadWithImmediate",
              [](efa::SendWork& w) {
                w.operation = efa::Operation::kRead;
                w.has_immediate = true;
              },
              {}},
        Wrong{"InlineRead", [](efa::SendWork& w) { w.operation = efa::Operation::kRead; },
              [](efa::NarrowWqe& w) { w.meta.ctrl1 |= 0x20; }},
        Wrong{"ThreeSegmentsOfASend", [](efa::SendWork& w) { w.operation = efa::Operation::kSend; },
              [](efa::NarrowWqe& w) { w.meta.length = 3; }},
        Wrong{"NoSegmentOfASend", [](efa::SendWork& w) { w.operation = efa::Operation::kSend; },
              [](efa::NarrowWqe& w) { w.meta.length = 0; }},
        Wrong{"TooManyInlineBytes", [](efa::SendWork& w) { w.operation = efa::Operation::kSend; },
              [](efa::NarrowWqe& w) {
                w.meta.ctrl1 |= 0x20;
                w.meta.length = 33;
              }}),
    [](const auto& test) { return test.param.name; });

// ---- 3: the device does not know the operation ----

TEST(StatusTest, LocalUnsupportedOperationType) {
  Scene s;
  s.PostGood();
  void* slot = PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 4096));
  static_cast<efa::NarrowWqe*>(slot)->meta.ctrl1 |= 0xf;
  RingRaw(s.a);
  s.PostGood();
  s.TakeFailure(0, 3, ErrorCode::kUnsupported);
  s.ExpectTheOthersUnharmed();
}

// Nor does the driver of efa-direct read where the device could: it has both or neither.
TEST(StatusTest, LocalUnsupportedWriteOnP4dAndReadOnG5) {
  struct Case {
    const char* profile;
    efa::Operation operation;
  };
  for (const auto& [profile, operation] :
       {Case{"p4d", efa::Operation::kWrite}, Case{"g5", efa::Operation::kWrite},
        Case{"g5", efa::Operation::kRead}}) {
    Lab lab(1, CopyOf(profile));
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    lab.Introduce();
    // The driver does not ask the device.
    EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 100, 1)), ErrorCode::kUnsupported);
    EXPECT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, 100, 1)), ErrorCode::kUnsupported);
    ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 100, 2)), ErrorCode::kOk);
    efa::SendWork work = RawWrite(a, b, 0, 4096);
    work.operation = operation;
    PlaceRaw(a, work);
    RingRaw(a);
    ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 100, 3)), ErrorCode::kOk);
    const Completion failed = lab.TakeNameless(a);
    EXPECT_EQ(failed.provider_error, 3);
    EXPECT_EQ(failed.error, ErrorCode::kUnsupported);
    EXPECT_TRUE(lab.Take(a, 3).ok());
    EXPECT_TRUE(lab.Take(b, 2).ok());
    lab.ExpectNoMore();
  }
}

TEST(StatusTest, LocalUnsupportedWriteOnADatagramQueuePair) {
  Lab lab(1);
  Side& a = lab.Add("a", {.type = fabric::EndpointType::kDatagram});
  Side& b = lab.Add("b", {.type = fabric::EndpointType::kDatagram});
  lab.Introduce();
  EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 100, 1)), ErrorCode::kUnsupported);
  PlaceRaw(a, RawWrite(a, b, 0, 4096));
  RingRaw(a);
  const Completion failed = lab.TakeNameless(a);
  EXPECT_EQ(failed.provider_error, 3);
  EXPECT_EQ(failed.error, ErrorCode::kUnsupported);
  EXPECT_TRUE(IsZero(b.Bytes(0, 4096)));
  lab.ExpectNoMore();
}

// ---- 4: the address handle went before the device looked at the work ----

TEST(StatusTest, LocalInvalidAddressHandle) {
  Scene s;
  s.PostGood();
  std::vector<fabric::WriteRequest> writes;
  constexpr std::uint64_t kWrites = 40;  // more than the engine serves at a time
  static_assert(kWrites > 2 * 16);
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    writes.push_back(s.a.WriteTo(s.b, 0, 16384, kBad + i));
  }
  ASSERT_EQ(s.a.endpoint->Write(writes).accepted, kWrites);
  ASSERT_TRUE(s.a.peers->Remove(s.a.PeerOf(s.b)).ok());
  s.PostGood();
  std::uint64_t flushed = 0;
  std::uint64_t invalid = 0;
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    const Completion completion = s.lab.Take(s.a, kBad + i);
    if (completion.provider_error == 1) ++flushed;
    if (completion.provider_error != 4) continue;
    ++invalid;
    EXPECT_EQ(completion.error, ErrorCode::kDeviceFault);
  }
  EXPECT_GT(flushed, 0u);
  EXPECT_GT(invalid, 0u);
  EXPECT_EQ(flushed + invalid, kWrites);
  s.ExpectTheOthersUnharmed();
}

TEST(StatusTest, LocalInvalidAddressHandleThatNeverWas) {
  Scene s;
  s.PostGood();
  efa::SendWork work = RawWrite(s.a, s.b, 0, 4096);
  work.address_handle = 1000;
  PlaceRaw(s.a, work);
  RingRaw(s.a);
  s.PostGood();
  s.TakeFailure(0, 4, ErrorCode::kDeviceFault);
  s.ExpectTheOthersUnharmed();
}

// ---- 5: the work request's local memory is wrong ----

TEST(StatusTest, LocalInvalidLkey) {
  Scene s;
  s.PostGood();
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, kBad);
  write.source.local_key ^= 2;
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  s.ExpectOnlyFailure(5, ErrorCode::kLocalAccess);
  EXPECT_TRUE(IsZero(s.b.Bytes(0, 4096)));
}

TEST(StatusTest, LocalInvalidLkeyOutsideOfTheRegion) {
  for (const bool before : {false, true}) {
    Scene s;
    auto part = s.a.Register(4096, 4096, Access::kAll);
    fabric::SendRequest send = s.a.SendTo(s.b, 0, 4096, kBad);
    send.buffer = part->Local();
    if (before) send.buffer.data -= 1;
    if (!before) send.buffer.length_bytes += 1;
    ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 8192, 1)), ErrorCode::kOk);
    ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
    EXPECT_EQ(s.TakeFailure(kBad, 5, ErrorCode::kLocalAccess).kind, OperationKind::kSend);
    // The receive was not taken.
    ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, 2)), ErrorCode::kOk);
    EXPECT_EQ(s.lab.Take(s.b, 1).length_bytes, 64u);
    EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
    s.ExpectTheOthersUnharmed();
  }
}

// The device has one right for its own requests, to write.
TEST(StatusTest, LocalInvalidLkeyWithoutTheRightToBeWritten) {
  Scene s;
  const auto source = s.a.Register(0, 4096, Access::kSend | Access::kWrite | Access::kRemoteRead);
  fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 4096, kBad);
  read.target = source->Local();
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  s.TakeFailure(kBad, 5, ErrorCode::kLocalAccess);
  s.ExpectTheOthersUnharmed();
}

// On EFA the data arrives; that the program broke libfabric's rules is a finding.
TEST(LocalRightsTest, AnyRegionMayBeTheSource) {
  Scene s;
  Fill(s.a.Bytes(0, 4096), 1);
  const auto region = s.a.Register(0, 4096, Access::kRemoteRead);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, 1);
  fabric::SendRequest send = s.a.SendTo(s.b, 0, 4096, 2);
  write.source = send.buffer = region->Local();
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(8192, 4096, 3)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
  EXPECT_TRUE(s.lab.Take(s.b, 3).ok());
  EXPECT_TRUE(Holds(s.b.Bytes(0, 4096), 1));
  EXPECT_TRUE(Holds(s.b.Bytes(8192, 4096), 1));
  s.lab.ExpectFinding(sim::Check::kLocalRights, 2);
}

TEST(LocalRightsTest, AnyRegionThatIsWrittenMayTakeReadsAndMessages) {
  for (const Access right : {Access::kReceive, Access::kRead, Access::kRemoteWrite}) {
    Scene s;
    Fill(s.b.Bytes(0, 4096), 1);
    const auto region = s.a.Register(0, 4096, right);
    fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 2048, 1);
    fabric::RecvRequest receive = s.a.RecvAt(0, 2048, 2);
    read.target = region->Local(0, 2048);
    receive.buffer = region->Local(2048, 2048);
    ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
    EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
    ASSERT_EQ(s.a.endpoint->Recv(receive), ErrorCode::kOk);
    ASSERT_EQ(s.b.endpoint->Send(s.b.SendTo(s.a, 2048, 2048, 3)), ErrorCode::kOk);
    EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
    EXPECT_TRUE(s.lab.Take(s.b, 3).ok());
    EXPECT_TRUE(Holds(s.a.Bytes(0, 4096), 1));
    s.lab.AllowFindings(sim::Check::kLocalRights);
  }
}

TEST(StatusTest, LocalInvalidLkeyOfARegionThatIsClosed) {
  Scene s;
  auto part = s.a.Register(0, 4096, Access::kAll);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, kBad);
  write.source = part->Local();
  ASSERT_TRUE(part->Close().ok());
  const auto next = s.a.Register(0, 4096, Access::kAll);  // in the same place of the device's table
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  s.ExpectOnlyFailure(5, ErrorCode::kLocalAccess);
  s.lab.ExpectFinding(sim::Check::kUseAfterDeregister, 1);
}

TEST(StatusTest, LocalInvalidLkeyOfARegionThatClosesInFlight) {
  Scene s;
  auto part = s.a.Register(0, kLong, Access::kAll);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, kLong, kBad);
  write.source = part->Local();
  fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, kLong, kBad + 1);
  read.target = part->Local();
  fabric::SendRequest send = s.a.SendTo(s.b, 0, 4096, kBad + 2);  // waits for a receive
  send.buffer = part->Local(0, 4096);
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
  ASSERT_TRUE(part->Close().ok());
  s.lab.Watch();
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 9)), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 3; ++i) s.TakeFailure(kBad + i, 5, ErrorCode::kLocalAccess);
  // The receive is still there for another sender.
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, 8)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 8).ok());
  EXPECT_TRUE(s.lab.Take(s.b, 9).ok());
  s.ExpectTheOthersUnharmed();
  s.lab.ExpectFinding(sim::Check::kUseAfterDeregister, 3);
}

TEST(StatusTest, LocalInvalidLkeyOfAReceive) {
  Scene s;
  auto part = s.b.Register(0, 4096, Access::kAll);
  fabric::RecvRequest receive = s.b.RecvAt(0, 4096, 1);
  receive.buffer = part->Local();
  ASSERT_EQ(s.b.endpoint->Recv(receive), ErrorCode::kOk);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(4096, 4096, 2)), ErrorCode::kOk);
  ASSERT_TRUE(part->Close().ok());
  Fill(s.a.Bytes(0, 64), 1);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, kBad)), ErrorCode::kOk);
  const Completion received = s.lab.Take(s.b, 1);
  EXPECT_EQ(received.provider_error, 5);
  EXPECT_EQ(received.error, ErrorCode::kLocalAccess);
  EXPECT_EQ(received.kind, OperationKind::kReceive);
  EXPECT_FALSE(s.lab.Take(s.a, kBad).ok());
  EXPECT_TRUE(IsZero(s.b.Bytes(0, 4096)));
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, 3)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.b, 2).ok());
  EXPECT_TRUE(s.lab.Take(s.a, 3).ok());
  s.ExpectTheOthersUnharmed();
  s.lab.ExpectFinding(sim::Check::kUseAfterDeregister, 1);
}

// ---- 6: longer than the device takes ----

TEST(StatusTest, LocalBadLengthOfAMessage) {
  Scene s;
  const std::size_t mtu = s.lab.world().profile().device.mtu;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 65535, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, mtu + 1, kBad)), ErrorCode::kOk);
  s.TakeFailure(kBad, 6, ErrorCode::kMessageTooLong);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, mtu, 2)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
  EXPECT_EQ(s.lab.Take(s.b, 1).length_bytes, mtu);
  s.ExpectTheOthersUnharmed();
}

TEST(StatusTest, LocalBadLengthOfAWriteAndARead) {
  sim::Profile profile = Small();
  profile.device.max_rdma_size = 32768;
  Scene s(profile);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 32769, kBad)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 32769, kBad + 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 32768, 1)), ErrorCode::kOk);
  s.TakeFailure(kBad, 6, ErrorCode::kMessageTooLong);
  s.TakeFailure(kBad + 1, 6, ErrorCode::kMessageTooLong);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  s.ExpectTheOthersUnharmed();
}

}  // namespace
}  // namespace drydock::sim_testing
