// Programs that touch memory that the device is to write, and their twins that wait. The first end
// with AddressSanitizer's report, so that they are run only where it is on; the others run
// everywhere.

#include "drydock/sim/checks/destination_guard.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>

#include "drydock/fabric/error.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::ErrorCode;

struct Pair {
  explicit Pair(const SideOptions& options = {})
      : lab(1, Calm()), a(lab.Add("a", options)), b(lab.Add("b", options)) {
    lab.Introduce();
  }
  void Receive(std::size_t offset, std::size_t length, std::uint64_t context) {
    ASSERT_EQ(b.endpoint->Recv(b.RecvAt(offset, length, context)), ErrorCode::kOk);
  }
  void Send(std::size_t offset, std::size_t length, std::uint64_t context) {
    ASSERT_EQ(a.endpoint->Send(a.SendTo(b, offset, length, context)), ErrorCode::kOk);
  }
  void Read(std::size_t offset, std::size_t length, std::uint64_t context) {
    ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, offset, length, context)), ErrorCode::kOk);
  }

  Lab lab;
  Side& a;
  Side& b;
};

// What a program does with a byte that it believes to be there.
volatile std::byte seen{};
void Look(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) seen = byte;
}
void Look(Side& side, std::size_t offset, std::size_t length = 1) {
  Look(side.Bytes(offset, length));
}

struct Program {
  const char* name;
  void (*run)();
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

// ---- Too early ----

const Program kTooEarly[] = {
    {"ReceiveBeforeItsMessage",
     [] {
       Pair p;
       p.Receive(64, 64, 1);
       Look(p.b, 64);
     }},
    {"ReceiveThatHasItsMessage",  // only the completion says so
     [] {
       Pair p;
       p.Receive(64, 64, 1);
       p.Send(64, 64, 2);
       p.lab.world().timeline().RunFor(1ms);
       Look(p.b, 127);
     }},
    {"SecondSegmentOfAReceive",
     [] {
       Pair p;
       const fabric::LocalBuffer more[] = {p.b.Local(4096, 64)};
       fabric::RecvRequest receive = p.b.RecvAt(0, 64, 1);
       receive.more = more;
       ASSERT_EQ(p.b.endpoint->Recv(receive), ErrorCode::kOk);
       Look(p.b, 4096);
     }},
    {"ReceiveIsFilledInAfterItWasPosted",
     [] {
       Pair p;
       p.Receive(64, 64, 1);
       p.b.Bytes(64, 1)[0] = std::byte{1};
     }},
    {"TargetOfARead",
     [] {
       Pair p;
       p.Read(0, 4096, 1);
       Look(p.a, 4000);
     }},
    {"LastByteOfALongReadIsPolled",  // it is the first one that lands, on a rough network
     [] {
       Pair p;
       p.Read(0, 100000, 1);
       while (p.a.Bytes(99999, 1)[0] == std::byte{0}) p.lab.world().timeline().RunFor(1us);
     }},
    {"TargetOfTheOtherRead",
     [] {
       Pair p;
       p.Read(0, 64, 1);
       p.lab.Take(p.a, 1);
       p.Read(64, 64, 2);
       Look(p.a, 0, 64);
       Look(p.a, 64);
     }},
    {"ReceiveIsPostedAgain",
     [] {
       Pair p;
       p.Receive(0, 64, 1);
       p.Send(0, 64, 2);
       p.lab.Take(p.b, 1);
       p.Receive(0, 64, 3);
       Look(p.b, 0);
     }},
};

class TooEarlyDeathTest : public ::testing::TestWithParam<Program> {};

TEST_P(TooEarlyDeathTest, EndsAtTheLine) {
  if (!sim::kPoisons) GTEST_SKIP() << "needs AddressSanitizer: --config=asan";
  EXPECT_DEATH(GetParam().run(), "use-after-poison");
}

INSTANTIATE_TEST_SUITE_P(Programs, TooEarlyDeathTest, ::testing::ValuesIn(kTooEarly),
                         [](const auto& program) { return program.param.name; });

// ---- In time, or none of the device's business ----

const Program kInTime[] = {
    {"ReceiveAfterItsCompletion",
     [] {
       Pair p;
       Fill(p.a.Bytes(64, 64), 7);
       p.Receive(64, 64, 1);
       p.Send(64, 64, 2);
       p.lab.Take(p.b, 1);
       EXPECT_TRUE(Holds(p.b.Bytes(64, 64), 7));
     }},
    {"TargetOfAReadAfterItsCompletion",
     [] {
       Pair p;
       Fill(p.b.Bytes(0, 100000), 7);
       p.Read(0, 100000, 1);
       p.lab.Take(p.a, 1);
       EXPECT_TRUE(Holds(p.a.Bytes(0, 100000), 7));
     }},
    {"ReadThatFails",
     [] {
       Pair p;
       fabric::ReadRequest read = p.a.ReadFrom(p.b, 0, 64, 1);
       read.source.key ^= 1;
       ASSERT_EQ(p.a.endpoint->Read(read), ErrorCode::kOk);
       EXPECT_FALSE(p.lab.Take(p.a, 1).ok());
       Look(p.a, 0, 64);
     }},
    {"ReadIntoWhatIsNotRegistered",  // the device refuses: the memory stays the program's
     [] {
       Pair p;
       fabric::ReadRequest read = p.a.ReadFrom(p.b, 0, 64, 1);
       read.target.local_key ^= 1;
       ASSERT_EQ(p.a.endpoint->Read(read), ErrorCode::kOk);
       Look(p.a, 0, 64);
       EXPECT_FALSE(p.lab.Take(p.a, 1).ok());
     }},
    {"NeighboursOfAReceive",
     [] {
       Pair p;
       p.Receive(61, 70, 1);  // whole words of it: 64 to 127
       Look(p.b, 0, 61);
       Look(p.b, 131, 64);
     }},
    {"OneOfTwoReceivesOfABuffer",  // a program may know that no peer sends a second message
     [] {
       Pair p;
       p.Receive(0, 64, 1);
       p.Receive(0, 64, 2);
       p.Send(0, 64, 3);
       p.lab.Take(p.b, 1);
       Look(p.b, 0, 64);
     }},
    {"TargetOfAWrite",
     [] {
       Pair p;
       ASSERT_EQ(p.a.endpoint->Write(p.a.WriteTo(p.b, 0, 4096, 1)), ErrorCode::kOk);
       Look(p.b, 0, 4096);
       p.lab.world().timeline().RunFor(1ms);
       Look(p.b, 0, 4096);
     }},
    {"ReceivesThatImmediatesTake",
     [] {
       Pair p({.receives_take_immediates = true});
       p.Receive(0, 64, 1);
       fabric::WriteRequest write = p.a.WriteTo(p.b, 0, 64, 2);
       write.immediate = 5;
       ASSERT_EQ(p.a.endpoint->Write(write), ErrorCode::kOk);
       p.lab.Take(p.b, 1);
       p.Receive(0, 64, 3);
       Look(p.b, 0, 64);
     }},
    {"EndpointIsClosed",
     [] {
       Pair p;
       p.Receive(0, 64, 1);
       ASSERT_TRUE(p.b.endpoint->Close().ok());
       Look(p.b, 0, 64);
     }},
    {"RegistrationIsClosed",
     [] {
       Pair p;
       const auto region = p.b.Register(4096, 64, fabric::Access::kReceive);
       ASSERT_EQ(p.b.endpoint->Recv({.buffer = region->Local(0, 64), .context = ContextOf(1)}),
                 ErrorCode::kOk);
       ASSERT_TRUE(region->Close().ok());
       Look(p.b, 4096, 64);
     }},
    {"MachineDied",
     [] {
       Pair p;
       p.Receive(0, 64, 1);
       p.b.node.Kill();
       Look(p.b, 0, 64);
     }},
    {"RingsOfSomebodyElse",
     [] {
       Pair p;
       p.Receive(0, 64, 1);
       p.b.rings();
       Look(p.b, 0, 64);
     }},
    {"MemoryOutlivesTheWorld",
     [] {
       alignas(8) static std::byte bytes[64];
       {
         Pair p;
         const auto region =
             Must(p.b.domain->RegisterMemory({.data = bytes, .length_bytes = sizeof(bytes)}));
         ASSERT_EQ(p.b.endpoint->Recv({.buffer = region->Local(0, 64), .context = ContextOf(1)}),
                   ErrorCode::kOk);
       }
       Look(bytes);
     }},
};

// Accesses of the device and its driver to memory that is in flight.
const Program kDevice[] = {
    {"WriteIntoAPostedReceive",
     [] {
       Pair p;
       Fill(p.a.Bytes(0, 4096), 7);
       p.Receive(0, 4096, 1);
       ASSERT_EQ(p.a.endpoint->Write(p.a.WriteTo(p.b, 0, 4096, 2)), ErrorCode::kOk);
       p.lab.Take(p.a, 2);
       p.Send(0, 64, 3);
       p.lab.Take(p.b, 1);
       EXPECT_TRUE(Holds(p.b.Bytes(0, 4096), 7));
     }},
    {"MessagesFromAPostedReceive",  // a ping that its pong may overwrite: long, short, of two
                                    // pieces
     [] {
       Pair p;
       Fill(p.b.Bytes(0, 4096), 7);
       p.Receive(0, 4096, 1);
       for (const std::size_t offset : {0, 2048}) {
         ASSERT_EQ(p.a.endpoint->Recv(p.a.RecvAt(offset, 2048, 2)), ErrorCode::kOk);
         ASSERT_EQ(p.b.endpoint->Send(p.b.SendTo(p.a, offset, 2048, 3)), ErrorCode::kOk);
         p.lab.Take(p.a, 2);
         p.lab.Take(p.b, 3);
       }
       EXPECT_TRUE(Holds(p.a.Bytes(0, 4096), 7));
       const fabric::LocalBuffer more[] = {p.b.Local(8, 8)};
       fabric::SendRequest send = p.b.SendTo(p.a, 0, 8, 3);
       send.more = more;
       ASSERT_EQ(p.a.endpoint->Recv(p.a.RecvAt(8192, 64, 2)), ErrorCode::kOk);
       ASSERT_EQ(p.b.endpoint->Send(send), ErrorCode::kOk);
       p.lab.Take(p.a, 2);
       p.lab.Take(p.b, 3);
       EXPECT_TRUE(Holds(p.a.Bytes(8192, 16), 7));
     }},
};

class InTimeTest : public ::testing::TestWithParam<Program> {};

TEST_P(InTimeTest, IsLeftAlone) { GetParam().run(); }

INSTANTIATE_TEST_SUITE_P(Programs, InTimeTest, ::testing::ValuesIn(kInTime),
                         [](const auto& program) { return program.param.name; });
INSTANTIATE_TEST_SUITE_P(Device, InTimeTest, ::testing::ValuesIn(kDevice),
                         [](const auto& program) { return program.param.name; });

}  // namespace
}  // namespace drydock::sim_testing
