// buffer-race: programs that touch memory that the device still uses, and their twins that wait.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "drydock/sim/checks/programs/stage.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::ErrorCode;
using fabric::WriteRequest;
using sim::Check;

constexpr std::optional<Check> kRace = Check::kBufferRace;
constexpr std::optional<Check> kRight = std::nullopt;

// A write between two places of the two memories.
WriteRequest Write(const Side& from, std::size_t source, const Side& to, std::size_t target,
                   std::size_t length, std::uint64_t context) {
  WriteRequest write = from.WriteTo(to, source, length, context);
  write.target = to.Remote(target);
  return write;
}

fabric::ReadRequest Read(const Side& to, std::size_t target, const Side& from, std::size_t source,
                         std::size_t length, std::uint64_t context) {
  fabric::ReadRequest read = to.ReadFrom(from, target, length, context);
  read.source = from.Remote(source);
  return read;
}

void Put(Side& side, std::size_t offset, std::uint64_t word) {
  std::memcpy(side.Bytes(offset, sizeof(word)).data(), &word, sizeof(word));
}

// ---- The source of a request ----

const std::vector<Program> kSources = {
    {"WriteSourceIsRefilledAtOnce", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, 1)));
       Fill(s.a.Bytes(0, 4096), 7);
       s.Finish(s.a, 1);
     }},
    {"WriteSourceIsRefilledAfterItsCompletion", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, 1)));
       s.Finish(s.a, 1);
       Fill(s.a.Bytes(0, 4096), 7);
     }},
    {"LastByteOfALongWriteIsChangedOnTheWay", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 100000, 1)));
       s.lab.world().timeline().RunFor(2us);
       s.a.Bytes(99999, 1)[0] ^= std::byte{1};
       s.Finish(s.a, 1);
     }},
    {"ByteBehindALongWriteIsChangedOnTheWay", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 100000, 1)));
       s.lab.world().timeline().RunFor(2us);
       s.a.Bytes(100000, 1)[0] ^= std::byte{1};
       s.Finish(s.a, 1);
     }},
    {"MessageIsRefilledAtOnce", kRace,
     [](Stage& s) {
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 2)));
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));
       Fill(s.a.Bytes(0, 4096), 7);
       s.Finish(s.a, 1);
       s.Finish(s.b, 2);
     }},
    {"MessageThatWaitsForAReceiveIsRefilled", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));
       s.lab.Watch(1ms);
       Fill(s.a.Bytes(0, 4096), 7);
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.b, 2);
     }},
    {"MessageIsRefilledAfterItsCompletion", kRight,
     [](Stage& s) {
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 2)));
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));
       s.Finish(s.a, 1);
       Fill(s.a.Bytes(0, 4096), 7);
       s.Finish(s.b, 2);
     }},
    {"SecondSegmentOfAMessageIsChanged", kRace,
     [](Stage& s) {
       const fabric::LocalBuffer second = s.a.Local(8192, 1000);
       fabric::SendRequest send = s.a.SendTo(s.b, 0, 1000, 1);
       send.more = {&second, 1};
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 2)));
       Accepted(s.a.endpoint->Send(send));
       s.a.Bytes(9000, 1)[0] ^= std::byte{1};
       s.Finish(s.a, 1);
       s.Finish(s.b, 2);
     }},
    {"MemoryBetweenTheSegmentsOfAMessageIsChanged", kRight,
     [](Stage& s) {
       const fabric::LocalBuffer second = s.a.Local(8192, 1000);
       fabric::SendRequest send = s.a.SendTo(s.b, 0, 1000, 1);
       send.more = {&second, 1};
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 2)));
       Accepted(s.a.endpoint->Send(send));
       Fill(s.a.Bytes(1000, 7192), 7);
       s.Finish(s.a, 1);
       s.Finish(s.b, 2);
     }},
    {"OneStagingPageForFourWrites", kRace,
     [](Stage& s) {
       for (std::uint64_t i = 1; i <= 4; ++i) {
         Fill(s.a.Bytes(0, 4096), i);
         Accepted(s.a.endpoint->Write(Write(s.a, 0, s.b, i * 4096, 4096, i)));
       }
       for (std::uint64_t i = 1; i <= 4; ++i) s.Finish(s.a, i);
     }},
    {"AStagingPageForEachOfFourWrites", kRight,
     [](Stage& s) {
       for (std::uint64_t i = 1; i <= 4; ++i) {
         Fill(s.a.Bytes(i * 4096, 4096), i);
         Accepted(s.a.endpoint->Write(Write(s.a, i * 4096, s.b, i * 4096, 4096, i)));
       }
       for (std::uint64_t i = 1; i <= 4; ++i) s.Finish(s.a, i);
     }},
    {"SmallWriteIsRefilledAtOnce", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, 1)));
       Fill(s.a.Bytes(0, 64), 7);
       s.Finish(s.a, 1);
     }},
    {"InjectedMessageIsRefilledAtOnce", kRight,
     [](Stage& s) {
       fabric::SendRequest send = s.a.SendTo(s.b, 0, 32, 1);
       send.inject = true;
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 64, 2)));
       Accepted(s.a.endpoint->Send(send));
       Fill(s.a.Bytes(0, 32), 7);
       s.Finish(s.a, 1);
       s.Finish(s.b, 2);
     }},
    {"RecordIsUpdatedWhileItIsWritten", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 64, 16, 1)));
       Put(s.a, 72, 99);
       s.Finish(s.a, 1);
     }},
    {"CounterIsUpdatedWhileItIsWritten", kRight,  // a word arrives whole, old or new
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 64, 8, 1)));
       Put(s.a, 64, 99);
       s.Finish(s.a, 1);
     }},
    {"PeerWritesIntoWhatIsBeingSent", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.c, 0, 250000, 1)));
       Accepted(s.b.endpoint->Write(Write(s.b, 0, s.a, 249000, 64, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.b, 2);
     }},
    {"PeerWritesIntoWhatWasSent", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.c, 0, 250000, 1)));
       s.Finish(s.a, 1);
       Accepted(s.b.endpoint->Write(Write(s.b, 0, s.a, 249000, 64, 2)));
       s.Finish(s.b, 2);
     }},
    {"OwnerChangesACounterThatAPeerReads", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 4096, 1)));
       Put(s.b, 1024, 99);
       s.lab.world().timeline().RunFor(5us);
       Put(s.b, 1024, 100);
       s.Finish(s.a, 1);
     }},
    {"BufferOfARefusedPostIsRefilled", kRight,
     [](Stage& s) {
       WriteRequest write = s.a.WriteTo(s.b, 0, 4096, 1);
       write.peer = fabric::kNoPeer;
       EXPECT_EQ(s.a.endpoint->Write(write), ErrorCode::kUnknownPeer);
       Fill(s.a.Bytes(0, 4096), 7);
     }},
    {"BufferOfAPostThatFoundTheQueueFullIsRefilled", kRight,
     [](Stage& s) {
       while (s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, 1)) == ErrorCode::kOk) {
       }
       EXPECT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 4096, 64, 2)), ErrorCode::kAgain);
       Fill(s.a.Bytes(4096, 64), 7);
       s.lab.Watch();
     }},
};

// ---- The destinations of requests ----

const std::vector<Program> kTargets = {
    {"TwoWritesToOnePlaceAtOnce", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(Write(s.a, 0, s.b, 0, 4096, 1)));
       Accepted(s.a.endpoint->Write(Write(s.a, 8192, s.b, 0, 4096, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.a, 2);
     }},
    {"TwoWritesToOnePlaceOneAfterTheOther", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(Write(s.a, 0, s.b, 0, 4096, 1)));
       s.Finish(s.a, 1);
       Accepted(s.a.endpoint->Write(Write(s.a, 8192, s.b, 0, 4096, 2)));
       s.Finish(s.a, 2);
     }},
    {"TwoPeersWriteDifferentBytesToOnePlace", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, 1)));
       Accepted(s.c.endpoint->Write(s.c.WriteTo(s.b, 0, 4096, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.c, 2);
     }},
    {"TwoPeersWriteTheSameBytesToOnePlace", kRight,
     [](Stage& s) {
       Fill(s.a.Bytes(0, 4096), 5);
       Fill(s.c.Bytes(0, 4096), 5);
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, 1)));
       Accepted(s.c.endpoint->Write(s.c.WriteTo(s.b, 0, 4096, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.c, 2);
     }},
    {"WritesOverlapByHalf", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(Write(s.a, 0, s.b, 0, 4096, 1)));
       Accepted(s.a.endpoint->Write(Write(s.a, 8192, s.b, 2048, 4096, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.a, 2);
     }},
    {"SmallWriteIntoALongOne", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(Write(s.a, 0, s.b, 0, 100000, 1)));
       Accepted(s.c.endpoint->Write(Write(s.c, 0, s.b, 77777, 64, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.c, 2);
     }},
    {"LongWriteOverASmallOne", kRace,
     [](Stage& s) {
       Accepted(s.c.endpoint->Write(Write(s.c, 0, s.b, 77777, 64, 2)));
       Accepted(s.a.endpoint->Write(Write(s.a, 0, s.b, 0, 100000, 1)));
       s.Finish(s.a, 1);
       s.Finish(s.c, 2);
     }},
    {"WritesTouchAndDoNotOverlap", kRight,
     [](Stage& s) {
       for (std::uint64_t i = 0; i < 16; ++i) {
         Accepted(s.a.endpoint->Write(Write(s.a, 100 * i, s.b, 1000 * i, 1000, i + 1)));
       }
       for (std::uint64_t i = 1; i <= 16; ++i) s.Finish(s.a, i);
     }},
    {"TwoValuesOfAFlagAtOnce", kRace,
     [](Stage& s) {
       Put(s.a, 0, 1);
       Put(s.a, 8, 2);
       Accepted(s.a.endpoint->Write(Write(s.a, 0, s.b, 64, 8, 1)));
       Accepted(s.a.endpoint->Write(Write(s.a, 8, s.b, 64, 8, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.a, 2);
     }},
    {"OneValueOfAFlagTwice", kRight,
     [](Stage& s) {
       Put(s.a, 0, 1);
       Put(s.a, 8, 1);
       Accepted(s.a.endpoint->Write(Write(s.a, 0, s.b, 64, 8, 1)));
       Accepted(s.a.endpoint->Write(Write(s.a, 8, s.b, 64, 8, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.a, 2);
     }},
    {"TwoReadsIntoOneBuffer", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Read(Read(s.a, 0, s.b, 0, 4096, 1)));
       Accepted(s.a.endpoint->Read(Read(s.a, 0, s.b, 8192, 4096, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.a, 2);
     }},
    {"TheSameBytesAreReadTwiceIntoOneBuffer", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Read(Read(s.a, 0, s.b, 0, 4096, 1)));
       Accepted(s.a.endpoint->Read(Read(s.a, 0, s.b, 0, 4096, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.a, 2);
     }},
    {"PeerWritesWhereAReadLands", kRace,
     [](Stage& s) {
       Accepted(s.a.endpoint->Read(Read(s.a, 0, s.b, 0, 4096, 1)));
       Accepted(s.c.endpoint->Write(Write(s.c, 0, s.a, 1024, 64, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.c, 2);
     }},
    {"PeerWritesWhereAReadHasLanded", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Read(Read(s.a, 0, s.b, 0, 4096, 1)));
       s.Finish(s.a, 1);
       Accepted(s.c.endpoint->Write(Write(s.c, 0, s.a, 1024, 64, 2)));
       s.Finish(s.c, 2);
     }},
    {"TwoReceivesOnOneBuffer", kRace,
     [](Stage& s) {
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 3)));
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 4)));
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));
       Accepted(s.c.endpoint->Send(s.c.SendTo(s.b, 0, 4096, 2)));
       s.lab.world().timeline().RunFor(1ms);
       s.Finish(s.b, 3);
       s.Finish(s.b, 4);
     }},
    {"TwoReceivesOnTwoBuffers", kRight,
     [](Stage& s) {
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 3)));
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(4096, 4096, 4)));
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));
       Accepted(s.c.endpoint->Send(s.c.SendTo(s.b, 0, 4096, 2)));
       s.lab.world().timeline().RunFor(1ms);
       s.Finish(s.b, 3);
       s.Finish(s.b, 4);
     }},
    {"OneBufferIsReceivedIntoAgainWhenItWasRead", kRight,
     [](Stage& s) {
       for (std::uint64_t i = 1; i <= 3; ++i) {
         Fill(s.a.Bytes(0, 4096), i);
         Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 10 + i)));
         Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, i)));
         s.Finish(s.b, 10 + i);
         s.Finish(s.a, i);
       }
     }},
    {"OneBufferForReceivesThatOnlyImmediatesTake", kRight,
     [](Stage& s) {
       Side& giver = s.lab.AddBeside(s.a, {.receives_take_immediates = true});
       Side& taker = s.lab.AddBeside(s.b, {.receives_take_immediates = true});
       s.lab.Introduce();
       for (std::uint64_t i = 1; i <= 4; ++i) {
         Accepted(taker.endpoint->Recv(taker.RecvAt(0, 64, i)));
         WriteRequest write = Write(giver, i * 4096, taker, i * 4096, 4096, i);
         write.immediate = 1;
         Accepted(giver.endpoint->Write(write));
       }
       for (std::uint64_t i = 1; i <= 4; ++i) s.Finish(taker, i);
     }},
    {"PeerWritesWhereAMessageLands", kRace,
     [](Stage& s) {
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 3)));
       Accepted(s.c.endpoint->Write(Write(s.c, 0, s.b, 0, 250000, 2)));
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));
       s.lab.world().timeline().RunFor(1ms);
       s.Finish(s.b, 3);
       s.Finish(s.c, 2);
     }},
    {"PeerWritesBesideAMessage", kRight,
     [](Stage& s) {
       Accepted(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 3)));
       Accepted(s.c.endpoint->Write(Write(s.c, 0, s.b, 4096, 200000, 2)));
       Accepted(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)));
       s.lab.world().timeline().RunFor(1ms);
       s.Finish(s.b, 3);
       s.Finish(s.c, 2);
     }},
    // The immediate says that the first write is there, and the message passes it on; the first
    // writer has not read its completion.
    {"SecondWriterHeardOfTheFirstWriteThroughItsTarget", kRight,
     [](Stage& s) {
       WriteRequest first = s.a.WriteTo(s.b, 0, 4096, 1);
       first.immediate = 1;
       Accepted(s.c.endpoint->Recv(s.c.RecvAt(8192, 64, 4)));
       Accepted(s.a.endpoint->Write(first));
       s.lab.TakeNameless(s.b);
       Accepted(s.b.endpoint->Send(s.b.SendTo(s.c, 0, 64, 3)));
       s.Finish(s.c, 4);
       Accepted(s.c.endpoint->Write(s.c.WriteTo(s.b, 0, 4096, 2)));
       s.Finish(s.c, 2);
     }},
    {"WriteToAnEndpointThatIsGoneRacesWithNobody", kRight,
     [](Stage& s) {
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 100000, 1)));
       s.b.endpoint.reset();
       s.b.endpoint = Must(s.b.domain->OpenEndpoint(s.b.Parts()));
       s.c.Insert(s.b);
       s.b.Insert(s.c);
       Accepted(s.c.endpoint->Write(s.c.WriteTo(s.b, 0, 100000, 2)));
       s.Finish(s.a, 1);
       s.Finish(s.c, 2);
     }},
    {"WriteThatIsRefusedRacesWithNobody", kRight,
     [](Stage& s) {
       WriteRequest forged = s.c.WriteTo(s.b, 0, 4096, 2);
       forged.target.key ^= 1;
       Accepted(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, 1)));
       Accepted(s.c.endpoint->Write(forged));
       s.Finish(s.a, 1);
       s.Finish(s.c, 2);
     }},
};

TEST_P(ProgramTest, OnAQuietNetwork) { ExpectVerdict(GetParam(), 1, Calm()); }

TEST_P(ProgramTest, OnARoughOne) {
  // Seed 1 loses the first packet of the second request: by then the first request has ended, and
  // what should race does not.
  for (std::uint64_t seed = 2; seed <= 6; ++seed) ExpectVerdict(GetParam(), seed, Small());
}

// The check reads the words of a source in lanes, and multiplies them by twos: none may be left
// out, nor be lost to a neighbour that makes a product 0.
TEST(SourceTest, EveryByteOfASourceCounts) {
  constexpr std::size_t kLength = 2 * 64 + 3 * 8 + 5;
  constexpr std::uint64_t kWords[] = {0, 0x9e3779b97f4a7c15u};  // sim/checks/buffer_race.cc: kOdd
  for (std::size_t i = 0; i < 2 * kLength; ++i) {
    const std::size_t byte = i / 2;
    SCOPED_TRACE(::testing::Message() << "byte " << byte << " among " << kWords[i % 2]);
    Stage stage(1, Calm());
    for (std::size_t at = 0; at < kLength; at += 8) Put(stage.a, at, kWords[i % 2]);
    Accepted(stage.a.endpoint->Write(stage.a.WriteTo(stage.b, 0, kLength, 1)));
    stage.a.Bytes(byte, 1)[0] ^= std::byte{1};
    stage.Finish(stage.a, 1);
    const std::vector<sim::Finding> findings = stage.lab.End();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].check, Check::kBufferRace);
  }
}

std::string NameOf(const ::testing::TestParamInfo<Program>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Sources, ProgramTest, ::testing::ValuesIn(kSources), NameOf);
INSTANTIATE_TEST_SUITE_P(Targets, ProgramTest, ::testing::ValuesIn(kTargets), NameOf);

}  // namespace
}  // namespace drydock::sim_testing
