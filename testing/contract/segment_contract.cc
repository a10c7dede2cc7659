// Messages that are gathered from several buffers, and scattered into several.

#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Access;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::LocalBuffer;
using fabric::RecvRequest;
using fabric::SendRequest;

class SegmentContract : public ContractTest {
 protected:
  static constexpr std::size_t kStep = 1000;

  std::size_t send_segments() const { return initiator_.endpoint->limits().send_segments; }
  std::size_t receive_segments() const { return target_.endpoint->limits().receive_segments; }
  static std::size_t LengthOf(std::size_t segment) { return 100 + 10 * segment; }

  // `count` pieces of a side's memory, none where one would expect it: the last comes first.
  static std::vector<LocalBuffer> Pieces(const Side& side, std::size_t count) {
    std::vector<LocalBuffer> pieces;
    for (std::size_t i = 0; i < count; ++i) {
      pieces.push_back(side.Local((count - i) * kStep, LengthOf(i)));
    }
    return pieces;
  }
  static std::size_t TotalOf(std::size_t count) {
    std::size_t total = 0;
    for (std::size_t i = 0; i < count; ++i) total += LengthOf(i);
    return total;
  }

  ErrorCode SendPieces(const std::vector<LocalBuffer>& pieces, std::uint64_t context) {
    const SendRequest request{.buffer = pieces.front(),
                              .peer = initiator_.peer,
                              .context = Context{context},
                              .more = std::span(pieces).subspan(1)};
    return Post([&] { return initiator_.endpoint->Send(request); });
  }
  ErrorCode RecvPieces(const std::vector<LocalBuffer>& pieces, std::uint64_t context) {
    const RecvRequest request{.buffer = pieces.front(),
                              .context = Context{context},
                              .more = std::span(pieces).subspan(1)};
    return Post([&] { return target_.endpoint->Recv(request); });
  }

  // Writes a pattern over the pieces as if they were one; checks it.
  static void FillPieces(const std::vector<LocalBuffer>& pieces, std::uint8_t seed) {
    std::vector<std::byte> whole;
    for (const LocalBuffer& piece : pieces) whole.resize(whole.size() + piece.length_bytes);
    Fill(whole, seed);
    std::size_t offset = 0;
    for (const LocalBuffer& piece : pieces) {
      std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset), piece.length_bytes,
                  piece.data);
      offset += piece.length_bytes;
    }
  }
  static bool PiecesHold(const std::vector<LocalBuffer>& pieces, std::uint8_t seed) {
    std::vector<std::byte> whole;
    for (const LocalBuffer& piece : pieces) {
      whole.insert(whole.end(), piece.data, piece.data + piece.length_bytes);
    }
    return Holds(whole, seed);
  }
};

TEST_F(SegmentContract, LimitsNameAtLeastOneSegment) {
  EXPECT_GE(send_segments(), 1u);
  EXPECT_GE(receive_segments(), 1u);
}

TEST_F(SegmentContract, MessageIsGatheredInOrder) {
  for (std::size_t count = 1; count <= send_segments(); ++count) {
    const std::vector<LocalBuffer> pieces = Pieces(initiator_, count);
    FillPieces(pieces, static_cast<std::uint8_t>(count));
    ASSERT_EQ(Recv(0, kMessageBytes, 1), ErrorCode::kOk);
    ASSERT_EQ(SendPieces(pieces, 2), ErrorCode::kOk);
    EXPECT_EQ(Take(target_, 1).length_bytes, TotalOf(count));
    EXPECT_TRUE(Holds(Bytes(target_, 0, TotalOf(count)), static_cast<std::uint8_t>(count)));
    EXPECT_TRUE(Take(initiator_, 2).ok());
  }
}

TEST_F(SegmentContract, MessageIsScatteredInOrder) {
  for (std::size_t count = 1; count <= receive_segments(); ++count) {
    const std::vector<LocalBuffer> pieces = Pieces(target_, count);
    Fill(Bytes(initiator_, 0, TotalOf(count)), static_cast<std::uint8_t>(count));
    ASSERT_EQ(RecvPieces(pieces, 1), ErrorCode::kOk);
    ASSERT_EQ(Send(0, TotalOf(count), 2), ErrorCode::kOk);
    EXPECT_EQ(Take(target_, 1).length_bytes, TotalOf(count));
    EXPECT_TRUE(PiecesHold(pieces, static_cast<std::uint8_t>(count))) << count;
    EXPECT_TRUE(Take(initiator_, 2).ok());
  }
}

TEST_F(SegmentContract, BothSidesMayCutDifferently) {
  const std::vector<LocalBuffer> from = Pieces(initiator_, send_segments());
  std::vector<LocalBuffer> to = Pieces(target_, receive_segments());
  std::size_t room = TotalOf(receive_segments());
  while (room < TotalOf(send_segments())) {  // the last has room for the rest
    const std::size_t grow = TotalOf(send_segments()) - room;
    to.back().length_bytes += grow;
    room += grow;
  }
  FillPieces(from, 5);
  ASSERT_EQ(RecvPieces(to, 1), ErrorCode::kOk);
  ASSERT_EQ(SendPieces(from, 2), ErrorCode::kOk);
  const Completion done = Take(target_, 1);
  EXPECT_EQ(done.length_bytes, TotalOf(send_segments()));
  std::vector<std::byte> sent, arrived;
  for (const LocalBuffer& piece : from) {
    sent.insert(sent.end(), piece.data, piece.data + piece.length_bytes);
  }
  for (const LocalBuffer& piece : to) {
    arrived.insert(arrived.end(), piece.data, piece.data + piece.length_bytes);
  }
  arrived.resize(sent.size());
  EXPECT_TRUE(sent == arrived);
}

TEST_F(SegmentContract, ShortMessageLeavesLaterSegmentsAlone) {
  const std::vector<LocalBuffer> pieces = Pieces(target_, receive_segments());
  Fill(Bytes(initiator_, 0, 50), 5);
  ASSERT_EQ(RecvPieces(pieces, 1), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 50, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).length_bytes, 50u);
  EXPECT_TRUE(Holds(std::span(pieces.front().data, 50), 5));
  EXPECT_TRUE(Untouched(std::span(pieces.front().data + 50, LengthOf(0) - 50)));
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    EXPECT_TRUE(Untouched(std::span(pieces[i].data, pieces[i].length_bytes)));
  }
}

// The room is that of all segments together.
TEST_F(SegmentContract, MessageThatFitsNoSegmentsIsTruncated) {
  const std::size_t count = receive_segments();
  ASSERT_EQ(RecvPieces(Pieces(target_, count), 1), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, TotalOf(count) + 1), 5);
  ASSERT_EQ(Send(0, TotalOf(count) + 1, 2), ErrorCode::kOk);
  const Completion told = Has(Trait::kSourceTruncation) ? Take(initiator_, 2) : Take(target_, 1);
  EXPECT_EQ(told.error, ErrorCode::kTruncated);
  PumpQuietly();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = (count - i) * kStep + LengthOf(i);
    EXPECT_TRUE(Untouched(Bytes(target_, end, kStep - LengthOf(i)))) << i;
  }
}

TEST_F(SegmentContract, TooManySegmentsAreRefused) {
  EXPECT_EQ(SendPieces(Pieces(initiator_, send_segments() + 1), 1), ErrorCode::kInvalidArgument);
  EXPECT_EQ(RecvPieces(Pieces(target_, receive_segments() + 1), 2), ErrorCode::kInvalidArgument);
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
  EXPECT_TRUE(target_.completions.empty());
}

// The list, and not the memory that it names, is free when the post returns.
TEST_F(SegmentContract, ListIsCopiedWhenItIsPosted) {
  std::vector<LocalBuffer> from = Pieces(initiator_, send_segments());
  std::vector<LocalBuffer> to = Pieces(target_, receive_segments());
  const std::size_t total = std::min(TotalOf(send_segments()), TotalOf(receive_segments()));
  std::vector<LocalBuffer> filled = to;
  std::size_t left = total;
  for (LocalBuffer& piece : filled) {
    piece.length_bytes = std::min(piece.length_bytes, left);
    left -= piece.length_bytes;
  }
  from.back().length_bytes -= TotalOf(send_segments()) - total;
  FillPieces(from, 7);
  ASSERT_EQ(RecvPieces(to, 1), ErrorCode::kOk);
  to.assign(to.size(), target_.Local(900000, 1));
  ASSERT_EQ(SendPieces(from, 2), ErrorCode::kOk);
  from.assign(from.size(), initiator_.Local(900000, 1));
  EXPECT_EQ(Take(target_, 1).length_bytes, total);
  EXPECT_TRUE(Untouched(Bytes(target_, 900000, 10)));
  EXPECT_TRUE(PiecesHold(filled, 7));
}

TEST_F(SegmentContract, SegmentsMayLieInDifferentRegions) {
  auto first = Register(initiator_, 0, 500, Access::kSend);
  auto second = Register(initiator_, 5000, 500, Access::kSend);
  std::vector<LocalBuffer> pieces = {first->Local(0, 100)};
  if (send_segments() > 1) pieces.push_back(second->Local(0, 100));
  FillPieces(pieces, 9);
  ASSERT_EQ(Recv(0, kMessageBytes, 1), ErrorCode::kOk);
  ASSERT_EQ(SendPieces(pieces, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).length_bytes, pieces.size() * 100);
  EXPECT_TRUE(Holds(Bytes(target_, 0, pieces.size() * 100), 9));
  EXPECT_TRUE(Take(initiator_, 2).ok());
}

}  // namespace
}  // namespace drydock::contract
