// Peers that lie. An attacker with a bare device sends packets that no honest peer would: random
// bytes, mutated packets, and well-formed ones that claim what is not so. Nothing crashes, nothing
// is written outside of a receive, and an honest conversation goes on as if nothing was.

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sim/efa_address.h"
#include "sim/rdm/address_book.h"
#include "sim/rdm/packet.h"
#include "sim/rdm/test_bed.h"
#include "sim/sim_fabric.h"

namespace sim::rdm {
namespace {

using namespace std::chrono_literals;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

// A bare device endpoint that sends what it likes, and keeps what it is answered.
class Attacker {
 public:
  static constexpr std::size_t kPacket = 8928;
  static constexpr std::size_t kReceives = 32;

  // `receives`: whether it ever posts a receive.
  Attacker(TestBed& bed, const fabric::Address& victim, bool receives = true)
      : bed_(bed),
        fabric_(OpenSimFabric(bed.world(), bed.world().AddNode("attacker"))),
        domain_(fabric_->OpenDomain(0).value()),
        queue_(domain_->OpenCompletionQueue({}).value()),
        vector_(domain_->OpenAddressVector().value()),
        memory_((kReceives + 1) * kPacket),
        region_(domain_->RegisterMemory({.data = memory_.data(), .length_bytes = memory_.size()})
                    .value()),
        endpoint_(domain_
                      ->OpenEndpoint({.send_queue = queue_.get(),
                                      .receive_queue = queue_.get(),
                                      .address_vector = vector_.get()})
                      .value()),
        victim_(vector_->Insert(victim).value()) {
    for (std::size_t i = 0; receives && i < kReceives; ++i) PostReceive(i);
  }

  fabric::Address address() const { return endpoint_->address(); }
  fabric::RemoteBuffer memory() const { return region_->remote(); }

  // A header that says who we are.
  PacketHeader Signed(PacketHeader header) const {
    header.source = address();
    header.connid = ConnidOf(address());
    return header;
  }
  void Send(std::span<const std::byte> bytes) {
    Post(bytes);
    while (!sent_) Step();
    sent_ = false;
  }
  // False when the victim's device does not take it in a while; then it is still on its way.
  bool TrySend(const PacketHeader& header, std::span<const std::byte> payload) {
    std::vector<std::byte> bytes(kMaxHeaderBytes + payload.size());
    const std::size_t length = Encode(header, bytes);
    std::memcpy(bytes.data() + length, payload.data(), payload.size());
    Post(std::span(bytes).first(length + payload.size()));
    for (int turn = 0; turn < 500 && !sent_; ++turn) Step();
    return std::exchange(sent_, false);
  }
  void Post(std::span<const std::byte> bytes) {
    std::byte* place = memory_.data() + kReceives * kPacket;
    if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
    const fabric::SendRequest request{.buffer = region_->Local(kReceives * kPacket, bytes.size()),
                                      .peer = victim_,
                                      .context = Context{kReceives}};
    ASSERT_EQ(endpoint_->Send(request), ErrorCode::kOk);
  }
  void Send(const PacketHeader& header, std::span<const std::byte> payload = {}) {
    std::vector<std::byte> bytes(kMaxHeaderBytes + payload.size());
    const std::size_t length = Encode(header, bytes);
    if (!payload.empty()) std::memcpy(bytes.data() + length, payload.data(), payload.size());
    Send(std::span(bytes).first(length + payload.size()));
  }

  // Lets everybody work a little.
  void Step() {
    std::array<Completion, 16> entries;
    const fabric::ReadResult result = queue_->Read(entries);
    for (std::size_t i = 0; i < result.count; ++i) {
      if (!entries[i].context.has_value()) continue;
      const auto number = static_cast<std::size_t>(*entries[i].context);
      if (number == kReceives) {
        sent_ = true;
        continue;
      }
      const auto packet =
          Decode(std::span(memory_).subspan(number * kPacket, entries[i].length_bytes));
      if (packet.has_value()) answers.push_back(packet->header);
      PostReceive(number);
    }
    bed_.Pump();
  }
  // Waits for an answer of this kind.
  std::optional<PacketHeader> Answer(PacketKind kind) {
    for (int turn = 0; turn < 2000; ++turn) {
      for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].kind != kind) continue;
        const PacketHeader found = answers[i];
        answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(i));
        return found;
      }
      Step();
    }
    return std::nullopt;
  }

  std::vector<PacketHeader> answers;

 private:
  void PostReceive(std::size_t number) {
    const fabric::RecvRequest request{.buffer = region_->Local(number * kPacket, kPacket),
                                      .context = Context{number}};
    ASSERT_EQ(endpoint_->Recv(request), ErrorCode::kOk);
  }

  TestBed& bed_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<fabric::Domain> domain_;
  std::unique_ptr<fabric::CompletionQueue> queue_;
  std::unique_ptr<fabric::AddressVector> vector_;
  std::vector<std::byte> memory_;
  std::unique_ptr<fabric::MemoryRegion> region_;
  std::unique_ptr<fabric::Endpoint> endpoint_;
  fabric::Peer victim_;
  bool sent_ = false;
};

constexpr PacketKind kAllKinds[] = {
    PacketKind::kCts,           PacketKind::kCtsData,        PacketKind::kReadResponse,
    PacketKind::kEor,           PacketKind::kAtomicResponse, PacketKind::kHandshake,
    PacketKind::kReceipt,       PacketKind::kReadNack,       PacketKind::kPeerError,
    PacketKind::kEager,         PacketKind::kEagerTagged,    PacketKind::kMedium,
    PacketKind::kMediumTagged,  PacketKind::kLongCts,        PacketKind::kLongCtsTagged,
    PacketKind::kEagerWrite,    PacketKind::kLongCtsWrite,   PacketKind::kShortRead,
    PacketKind::kLongCtsRead,   PacketKind::kWriteAtomic,    PacketKind::kFetchAtomic,
    PacketKind::kCompareAtomic, PacketKind::kLongRead,       PacketKind::kLongReadTagged,
    PacketKind::kLongReadWrite};

// An honest conversation between a and b, of every size class, whose data is checked.
void ExpectGoodConversation(TestBed& bed, std::uint32_t pattern) {
  std::uint64_t context = 5000;
  for (const std::size_t length : {0u, 500u, 20000u, 300000u, 1500000u}) {
    SCOPED_TRACE(length);
    Fill(bed.a().Bytes(0, length), pattern);
    const fabric::TaggedRecvRequest receive{.buffer = bed.b().Local(0, length),
                                            .tag = context,
                                            .source = bed.b().peers[0],
                                            .context = Context{context}};
    const fabric::TaggedSendRequest send{.buffer = bed.a().Local(0, length),
                                         .peer = bed.a().peers[1],
                                         .tag = context,
                                         .context = Context{context}};
    ASSERT_EQ(bed.Post([&] { return bed.b().tagged().RecvTagged(receive); }), ErrorCode::kOk);
    ASSERT_EQ(bed.Post([&] { return bed.a().tagged().SendTagged(send); }), ErrorCode::kOk);
    const Completion received = bed.Take(bed.b(), context);
    EXPECT_EQ(received.error, ErrorCode::kOk);
    EXPECT_EQ(received.length_bytes, length);
    EXPECT_TRUE(Holds(bed.b().Bytes(0, length), pattern));
    EXPECT_EQ(bed.Take(bed.a(), context).error, ErrorCode::kOk);
    ++context;
  }
}

// Small numbers are the dangerous ones: they name what exists.
std::uint64_t Interesting(Dice& dice) {
  switch (dice.Below(6)) {
    case 0:
      return dice.Below(4);
    case 1:
      return (dice.Below(4) << 32) | dice.Below(8);  // an operation
    case 2:
      return UINT64_MAX - dice.Below(4);
    case 3:
      return std::uint64_t{1} << dice.Below(64);
    case 4:
      return dice.Below(10000);
    default:
      return dice.Next();
  }
}

PacketHeader RandomHeader(Dice& dice, const Attacker& attacker, Machine& victim) {
  PacketHeader header{.kind = kAllKinds[dice.Below(std::size(kAllKinds))],
                      .message = static_cast<std::uint32_t>(Interesting(dice)),
                      .operation = Interesting(dice),
                      .reply = Interesting(dice),
                      .tag = Interesting(dice),
                      .length = Interesting(dice),
                      .offset = dice.OneIn(2) ? 0 : Interesting(dice)};
  const bool memory =
      IsAtomic(header.kind) || header.kind == PacketKind::kLongReadWrite ||
      (header.kind >= PacketKind::kEagerWrite && header.kind <= PacketKind::kLongCtsRead);
  if (memory) {
    fabric::RemoteBuffer place{Interesting(dice), Interesting(dice)};
    // A key that the victim never gave to anybody for writing, at a place that exists.
    if (dice.OneIn(2)) place.address = victim.region->remote().address + Interesting(dice);
    header.remote = place;
  }
  if (IsAtomic(header.kind)) {
    header.atomic = static_cast<fabric::AtomicOperation>(dice.Below(10));
    header.atomic_type = static_cast<fabric::AtomicType>(dice.Below(7));
  }
  if (dice.OneIn(4)) header.immediate = 7;
  header = attacker.Signed(header);
  if (dice.OneIn(8)) header.connid ^= 1;
  if (dice.OneIn(8)) header.source.reset();
  return header;
}

// A packet whose lengths were made to agree, most of the time, so that it gets past the decoder.
std::vector<std::byte> RandomPacket(Dice& dice, Attacker& attacker, Machine& victim) {
  PacketHeader header = RandomHeader(dice, attacker, victim);
  std::size_t payload = dice.Below(200);
  std::vector<ReadSegment> segments;
  if (IsLongRead(header.kind)) {
    for (std::uint64_t n = 1 + dice.Below(4); n > 0; --n) {
      fabric::RemoteBuffer place = attacker.memory();
      if (dice.OneIn(2)) place.key = Interesting(dice);
      segments.push_back({place, 1 + dice.Below(20000)});
    }
    header.length = header.offset = 0;
    for (const ReadSegment& segment : segments) header.length += segment.length_bytes;
    payload = segments.size() * kReadSegmentBytes;
  } else if (IsAtomic(header.kind) && dice.OneIn(2)) {
    header.length = 8 * (1 + dice.Below(10));
    header.offset = 0;
    payload = header.length * (header.kind == PacketKind::kCompareAtomic ? 2 : 1);
  } else if (!dice.OneIn(4)) {
    header.length = dice.OneIn(2) ? payload : payload + dice.Below(100000);
  }
  std::vector<std::byte> bytes(kMaxHeaderBytes + payload);
  bytes.resize(Encode(header, bytes) + payload);
  const std::span<std::byte> body = std::span(bytes).subspan(EncodedBytes(header));
  for (std::byte& byte : body) byte = static_cast<std::byte>(dice.Next());
  if (!segments.empty()) EncodeSegments(segments, body);
  if (dice.OneIn(5)) bytes[dice.Below(bytes.size())] ^= static_cast<std::byte>(dice.Next());
  if (dice.OneIn(10)) bytes.resize(dice.Below(bytes.size() + 1));
  return bytes;
}

class HostileTest : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, HostileTest, ::testing::Range<std::uint64_t>(1, 21));

TEST_P(HostileTest, RandomPacketsDoNoHarm) {
  TestBedOptions options{.seed = GetParam()};
  if (GetParam() % 2 == 0) options.alteration.without = {fabric::Capability::kRemoteWrite};
  TestBed bed(options);
  bed.Connect();
  ExpectGoodConversation(bed, 1);
  // Nobody was given these keys: no packet may change this memory.
  std::vector<std::byte> before = bed.b().memory;
  Attacker attacker(bed, bed.b().endpoint->address());
  Dice dice(GetParam());
  for (int i = 0; i < 400; ++i) attacker.Send(RandomPacket(dice, attacker, bed.b()));
  bed.PumpFor(1ms);
  EXPECT_TRUE(bed.b().memory == before);
  EXPECT_TRUE(bed.a().completions.empty());
  EXPECT_GT(bed.b().statistics().malformed, 0u);
  EXPECT_GT(bed.b().statistics().wrong_connid + bed.b().statistics().unknown_sender, 0u);
  ExpectGoodConversation(bed, 2);
}

// The same while honest messages are under way, into receives that take any message.
TEST_P(HostileTest, RandomPacketsDuringAConversation) {
  TestBed bed({.seed = GetParam()});
  bed.Connect();
  Attacker attacker(bed, bed.b().endpoint->address());
  Dice dice(1000 + GetParam());
  constexpr std::size_t kRoom = 3000, kOpen = 20;
  for (std::uint64_t i = 0; i < kOpen; ++i) {  // for anybody, attackers too
    ASSERT_EQ(bed.Recv((4 << 20) + 2 * i * kRoom, kRoom, i), ErrorCode::kOk);
  }
  constexpr std::uint64_t kTag = 0xfeedfacefeedface;
  constexpr std::size_t kLength = 2000000;
  Fill(bed.a().Bytes(0, kLength), 9);
  const fabric::TaggedRecvRequest receive{.buffer = bed.b().Local(0, kLength),
                                          .tag = kTag,
                                          .source = bed.b().peers[0],
                                          .context = Context{777}};
  ASSERT_EQ(bed.b().tagged().RecvTagged(receive), ErrorCode::kOk);
  const fabric::TaggedSendRequest send{.buffer = bed.a().Local(0, kLength),
                                       .peer = bed.a().peers[1],
                                       .tag = kTag,
                                       .context = Context{777}};
  ASSERT_EQ(bed.a().tagged().SendTagged(send), ErrorCode::kOk);
  for (int i = 0; i < 200; ++i) attacker.Send(RandomPacket(dice, attacker, bed.b()));
  EXPECT_EQ(bed.Take(bed.b(), 777).error, ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.a(), 777).error, ErrorCode::kOk);
  EXPECT_TRUE(Holds(bed.b().Bytes(0, kLength), 9));
  for (std::uint64_t i = 0; i < kOpen; ++i) {  // what lies between the receives
    EXPECT_TRUE(Untouched(bed.b().Bytes((4 << 20) + (2 * i + 1) * kRoom, kRoom))) << i;
  }
}

// --- Well-formed lies ---

class LiarTest : public ::testing::Test {
 protected:
  LiarTest() { bed_.Connect(); }

  // The attacker's message of this length, begun; returns the victim's operation, once it is
  // cleared to send.
  PacketHeader BeginLongMessage(std::uint64_t length, std::uint32_t number) {
    liar_.Send(liar_.Signed(
        {.kind = PacketKind::kLongCts, .message = number, .reply = 77, .length = length}));
    const auto cts = liar_.Answer(PacketKind::kCts);
    EXPECT_TRUE(cts.has_value());
    return cts.value_or(PacketHeader{});
  }
  void SendData(OperationId operation, std::uint64_t length, std::uint64_t offset,
                std::size_t bytes) {
    const std::vector<std::byte> payload(bytes, std::byte{0x66});
    liar_.Send(liar_.Signed({.kind = PacketKind::kCtsData,
                             .operation = operation,
                             .length = length,
                             .offset = offset}),
               payload);
  }

  TestBed bed_;
  Attacker liar_{bed_, bed_.b().endpoint->address()};
};

TEST_F(LiarTest, DataThatCameBeforeCountsOnce) {
  ASSERT_EQ(bed_.Recv(0, 4000, 1), ErrorCode::kOk);
  const PacketHeader cts = BeginLongMessage(4000, 0);
  for (int i = 0; i < 5; ++i) SendData(cts.reply, 4000, 0, 1000);
  SendData(cts.reply, 4000, 500, 1000);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());  // 4000 bytes came, but not the right ones
  EXPECT_EQ(bed_.b().statistics().duplicates, 5u);
  SendData(cts.reply, 4000, 1000, 3000);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 4000u);
}

TEST_F(LiarTest, DataOutsideOfTheMessageIsDropped) {
  ASSERT_EQ(bed_.Recv(100, 2000, 1), ErrorCode::kOk);
  const PacketHeader cts = BeginLongMessage(4000, 0);
  SendData(cts.reply, 8000, 4000, 1000);  // of a longer message, it says
  SendData(cts.reply, UINT64_MAX, 1 << 20, 10);
  SendData(cts.reply ^ 1, 4000, 0, 1000);  // for another operation
  SendData(cts.reply + (std::uint64_t{1} << 32), 4000, 0, 1000);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(Untouched(bed_.b().memory));
  SendData(cts.reply, 4000, 0, 4000);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).error, ErrorCode::kTruncated);
  EXPECT_TRUE(Untouched(bed_.b().Bytes(0, 100)));
  EXPECT_TRUE(Untouched(bed_.b().Bytes(2100, 4000)));
  SendData(cts.reply, 4000, 0, 4000);  // it has ended
  bed_.PumpFor(1ms);
  EXPECT_GE(bed_.b().statistics().strays, 5u);
}

// What was not cleared to send, must not be sent.
TEST_F(LiarTest, DataBeyondTheGrantIsDropped) {
  ASSERT_EQ(bed_.Recv(0, 1000000, 1), ErrorCode::kOk);
  const PacketHeader cts = BeginLongMessage(1000000, 0);
  EXPECT_LT(cts.length, 1000000u);
  SendData(cts.reply, 1000000, cts.length - 10, 100);
  SendData(cts.reply, 1000000, 999000, 1000);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(Untouched(bed_.b().memory));
  EXPECT_EQ(bed_.b().statistics().strays, 2u);
}

// Numbers of operations are guessable, and of no use to a third party.
TEST_F(LiarTest, OthersOperationsAreOutOfReach) {
  ASSERT_EQ(bed_.Send(0, 500000, 1), ErrorCode::kOk);  // a's, waiting at b
  bed_.PumpFor(1ms);
  Attacker at_a(bed_, bed_.a().endpoint->address());
  for (std::uint64_t slot = 0; slot < 8; ++slot) {
    for (std::uint64_t generation = 1; generation < 8; ++generation) {
      const OperationId guess = generation << 32 | slot;
      at_a.Send(at_a.Signed({.kind = PacketKind::kCts,
                             .operation = guess,
                             .reply = 1,
                             .length = 100000,
                             .offset = 8760}));
      at_a.Send(at_a.Signed({.kind = PacketKind::kPeerError, .operation = guess}));
      at_a.Send(at_a.Signed({.kind = PacketKind::kEor, .operation = guess}));
      at_a.Send(at_a.Signed({.kind = PacketKind::kReceipt, .operation = guess}));
      liar_.Send(liar_.Signed({.kind = PacketKind::kPeerError, .operation = guess}));
    }
  }
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.a().completions.empty());
  EXPECT_GE(bed_.a().statistics().strays, 4u * 56);
  for (const PacketHeader& answer : at_a.answers) {
    EXPECT_NE(answer.kind, PacketKind::kCtsData);  // not one byte was sent to it
  }
  ASSERT_EQ(bed_.Recv(0, 500000, 2), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 2).error, ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
}

// Who claims to be somebody whose connid it does not know, is nobody.
TEST_F(LiarTest, ConnidMustBeTheSenders) {
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  const std::vector<std::byte> payload(50, std::byte{0x66});
  PacketHeader lie{.kind = PacketKind::kEager,
                   .connid = ConnidOf(liar_.address()),
                   .message = 0,
                   .length = 50,
                   .source = bed_.a().endpoint->address()};
  liar_.Send(lie, payload);
  lie.connid ^= 0x1000;
  lie.source = liar_.address();
  liar_.Send(lie, payload);
  lie.source.reset();
  liar_.Send(lie, payload);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_EQ(bed_.b().statistics().wrong_connid + bed_.b().statistics().unknown_sender, 3u);
  ASSERT_EQ(bed_.Send(0, 20, 2), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 20u);
}

TEST_F(LiarTest, RepeatedMessagesAreDropped) {
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(bed_.Recv(100, 100, 2), ErrorCode::kOk);
  const std::vector<std::byte> payload(50, std::byte{0x66});
  const PacketHeader message =
      liar_.Signed({.kind = PacketKind::kEager, .message = 0, .length = 50});
  for (int i = 0; i < 3; ++i) liar_.Send(message, payload);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 50u);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_EQ(bed_.b().statistics().duplicates, 2u);
}

// The packets of one medium message must tell the same story.
TEST_F(LiarTest, MediumMessageThatContradictsItself) {
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  const std::vector<std::byte> payload(50, std::byte{0x66});
  PacketHeader part = liar_.Signed({.kind = PacketKind::kMedium, .message = 0, .length = 100});
  liar_.Send(part, payload);
  part.length = 60000;
  part.offset = 59950;
  liar_.Send(part, payload);
  part.kind = PacketKind::kMediumTagged;
  part.length = 100;
  part.offset = 50;
  liar_.Send(part, payload);
  bed_.PumpFor(1ms);
  EXPECT_EQ(bed_.b().statistics().malformed, 2u);
  EXPECT_TRUE(bed_.b().completions.empty());
  part.kind = PacketKind::kMedium;
  liar_.Send(part, payload);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 100u);
  EXPECT_TRUE(Untouched(bed_.b().Bytes(100, 70000)));
}

// A message that wants to be read from memory that is not there, then is not sent either.
TEST_F(LiarTest, MemoryThatCannotBeRead) {
  ASSERT_EQ(bed_.Recv(0, 5000, 1), ErrorCode::kOk);
  const ReadSegment nowhere{{0x1234, 0x5678}, 5000};
  std::vector<std::byte> payload(kReadSegmentBytes);
  EncodeSegments({&nowhere, 1}, payload);
  liar_.Send(liar_.Signed({.kind = PacketKind::kLongRead, .reply = 9, .length = 5000}), payload);
  const auto nack = liar_.Answer(PacketKind::kReadNack);
  ASSERT_TRUE(nack.has_value());
  EXPECT_EQ(nack->operation, 9u);
  liar_.Send(liar_.Signed({.kind = PacketKind::kPeerError, .operation = nack->reply}));
  EXPECT_EQ(bed_.Take(bed_.b(), 1).error, ErrorCode::kPeerAborted);
  EXPECT_TRUE(Untouched(bed_.b().memory));
}

// A peer that asks and never receives: its answers take a share of our packets, and no more.
TEST_F(LiarTest, PeerThatNeverReceivesCannotStopUs) {
  Attacker silent(bed_, bed_.b().endpoint->address(), /*receives=*/false);
  for (std::uint32_t i = 0; i < 200; ++i) {
    silent.Send(silent.Signed({.kind = PacketKind::kShortRead,
                               .reply = i + 1,
                               .length = 100,
                               .remote = fabric::RemoteBuffer{1, 1}}));
  }
  ExpectGoodConversation(bed_, 3);
  for (std::uint64_t i = 0; i < 10; ++i) {  // and b itself can still send
    const fabric::SendRequest send{
        .buffer = bed_.b().Local(0, 100), .peer = bed_.b().peers[0], .context = Context{i}};
    ASSERT_EQ(bed_.Post([&] { return bed_.b().endpoint->Send(send); }), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), i).error, ErrorCode::kOk);
  }
}

// Messages that are never due: kept, counted, and in nobody's way.
TEST_F(LiarTest, NumbersFarAhead) {
  const std::vector<std::byte> payload(50, std::byte{0x66});
  for (const std::uint32_t number : {1u, 16384u, 16385u, 0x7fffffffu, 0x80000000u, UINT32_MAX}) {
    liar_.Send(liar_.Signed({.kind = PacketKind::kEager, .message = number, .length = 50}),
               payload);
  }
  bed_.PumpFor(1ms);
  EXPECT_EQ(bed_.b().statistics().early, 4u);
  EXPECT_EQ(bed_.b().statistics().overflowed, 3u);
  EXPECT_EQ(bed_.b().statistics().duplicates, 2u);
  ExpectGoodConversation(bed_, 4);
}

// Who knows an address, its qkey and all, is not its owner: the device tells.
TEST_F(LiarTest, NobodySpeaksForAPeerThatTheDeviceKnows) {
  bed_.PumpFor(5ms);
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  const std::vector<std::byte> payload(50, std::byte{0x66});
  const fabric::Address victim = bed_.a().endpoint->address();
  liar_.Send(PacketHeader{.kind = PacketKind::kEager,
                          .connid = ConnidOf(victim),
                          .message = 0,
                          .length = 50,
                          .source = victim},
             payload);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_EQ(bed_.b().statistics().unknown_sender, 1u);
}

// --- Bounds ---

// Messages that no receive fits fill their room, then the receives of the device, and no more.
TEST(BoundTest, FloodOfMessagesEndsWithTheRoomForThem) {
  TestBedOptions options;
  options.settings.unexpected_messages = 10;
  options.settings.receive_packets = 16;
  TestBed bed(options);
  Attacker flood(bed, bed.b().endpoint->address());
  const std::vector<std::byte> payload(5000, std::byte{0x66});
  std::uint32_t taken = 0;
  while (flood.TrySend(flood.Signed({.kind = PacketKind::kEager, .message = taken, .length = 5000}),
                       payload)) {
    ASSERT_LE(++taken, 100u);
  }
  EXPECT_EQ(taken, 26u);
  EXPECT_EQ(bed.b().statistics().unexpected, 10u);
  EXPECT_EQ(bed.b().statistics().unexpected_bytes, 50000u);
  for (std::uint64_t i = 0; i < 26; ++i) {  // the program takes them: there is room again
    ASSERT_EQ(bed.Recv(0, 5000, i), ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.b(), i).length_bytes, 5000u);
  }
  ExpectGoodConversation(bed, 5);
}

TEST(BoundTest, PacketsThatAreNeverDueAreHeldToALimit) {
  TestBedOptions options;
  options.settings.early_bytes = 20000;
  TestBed bed(options);
  Attacker flood(bed, bed.b().endpoint->address());
  const std::vector<std::byte> payload(50, std::byte{0x66});
  for (std::uint32_t i = 1; i <= 300; ++i) {
    // Many messages, and many packets of one.
    const std::uint32_t number = i % 2 == 0 ? i : 1;
    flood.Send(flood.Signed({.kind = PacketKind::kEager, .message = number, .length = 50}),
               payload);
  }
  bed.PumpFor(1ms);
  const Statistics& statistics = bed.b().statistics();
  EXPECT_EQ(statistics.early + statistics.too_early, 300u);
  EXPECT_LE(statistics.early, 20000u / 50);
  EXPECT_GT(statistics.early, 50u);
  EXPECT_GT(statistics.too_early, 150u);
  ExpectGoodConversation(bed, 6);
}

TEST(BoundTest, WritesThatNeverGoOnAreHeldToALimit) {
  TestBedOptions options;
  options.settings.served_operations = 4;
  TestBed bed(options);
  Attacker lazy(bed, bed.b().endpoint->address());
  for (std::uint64_t i = 1; i <= 10; ++i) {
    lazy.Send(
        lazy.Signed({.kind = i % 2 == 0 ? PacketKind::kLongCtsWrite : PacketKind::kLongCtsRead,
                     .reply = i,
                     .length = 100000,
                     .offset = i % 2 == 0 ? 0u : 1u,
                     .remote = bed.b().Remote(0)}));
  }
  bed.PumpFor(1ms);
  EXPECT_EQ(bed.b().statistics().refused_requests, 6u);
  int refused = 0;
  while (lazy.Answer(PacketKind::kPeerError).has_value()) ++refused;
  EXPECT_EQ(refused, 6);
  ExpectGoodConversation(bed, 7);
}

// One that has ended makes room for the next.
TEST(BoundTest, ServedOperationsAreCountedDown) {
  TestBedOptions options;
  options.settings.served_operations = 2;
  options.alteration.without = {fabric::Capability::kRemoteWrite, fabric::Capability::kRemoteRead};
  TestBed bed(options);
  bed.Connect();
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::size_t length = i % 3 == 0 ? 100 : 50000;
    const fabric::WriteRequest write{.source = bed.a().Local(0, length),
                                     .target = bed.b().Remote(0),
                                     .peer = bed.a().peers[1],
                                     .context = Context{i}};
    const fabric::ReadRequest read{.target = bed.a().Local(0, length),
                                   .source = bed.b().Remote(0),
                                   .peer = bed.a().peers[1],
                                   .context = Context{i}};
    ASSERT_EQ(bed.Post([&] {
      return i % 2 == 0 ? bed.a().endpoint->Write(write) : bed.a().endpoint->Read(read);
    }),
              ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.a(), i).error, ErrorCode::kOk);
  }
  EXPECT_EQ(bed.b().statistics().refused_requests, 0u);
}

// Values for a peer that takes no packets.
TEST(BoundTest, AnswersThatWaitAreHeldToALimit) {
  TestBedOptions options;
  options.settings.answer_bytes = 20000;
  TestBed bed(options);
  Attacker silent(bed, bed.b().endpoint->address(), /*receives=*/false);
  for (std::uint32_t i = 0; i < 40; ++i) {
    silent.Send(silent.Signed({.kind = PacketKind::kFetchAtomic,
                               .message = i,
                               .reply = i + 1,
                               .length = 8000,
                               .remote = bed.b().Remote(0),
                               .atomic = fabric::AtomicOperation::kRead,
                               .atomic_type = fabric::AtomicType::kUint64}));
  }
  bed.PumpFor(1ms);
  EXPECT_EQ(bed.b().statistics().atomics, 40u);
  // A quarter of the packets, and two values, less a handshake.
  const std::size_t packets = bed.b().endpoint->limits().send_queue_depth / 4;
  EXPECT_EQ(bed.b().statistics().unsent_answers, 40 - (packets + 2 - 1));
  ExpectGoodConversation(bed, 9);
}

TEST(BoundTest, InventedSendersAreHeldToALimit) {
  TestBedOptions options;
  options.settings.strangers = 3;
  TestBed bed(options);
  bed.Connect();
  Attacker crowd(bed, bed.b().endpoint->address());
  for (std::uint16_t i = 0; i < 10; ++i) {
    const fabric::Address invented =
        EfaAddress{.gid = {0xfe, 0x80, 9}, .queue_pair = i, .qkey = 100u + i}.Encode();
    crowd.Send(
        PacketHeader{.kind = PacketKind::kEager, .connid = ConnidOf(invented), .source = invented});
  }
  bed.PumpFor(1ms);
  EXPECT_EQ(bed.b().statistics().unexpected, 3u);
  EXPECT_EQ(bed.b().statistics().unknown_sender, 7u);
  ExpectGoodConversation(bed, 8);
}

}  // namespace
}  // namespace sim::rdm
