// The selector of descriptors, and what reads and writes with it: descriptor.h, tcp.h, signals.h.
//
// No test measures time: what must not wait for ever would hang here, and does not.

#include "drydock/coro/epoll_selector.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/descriptor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/signals.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/tcp.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/coro/when_all.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Two connected descriptors: a pipe from `b` to `a`, or a pair of sockets.
struct Pair {
  Descriptor a;
  Descriptor b;
};

class EpollSelectorTest : public ::testing::Test {
 protected:
  Pair MakePipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    return {Descriptor(*io_, ends[0]), Descriptor(*io_, ends[1])};
  }
  Pair MakeSockets() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    return {Descriptor(*io_, ends[0]), Descriptor(*io_, ends[1])};
  }

  // Records how a wait ended.
  Task<absl::Status> Await(const Descriptor& on, Time deadline = kNever) {
    outcomes_.push_back(co_await io_->Readable(on.fd(), deadline));
    co_return absl::OkStatus();
  }

  SteadyClock clock_;
  EventLoop loop_{clock_};
  std::unique_ptr<EpollSelector> io_ = EpollSelector::Open(loop_).value();
  std::vector<absl::Status> outcomes_;
};

TEST_F(EpollSelectorTest, DataWakesItsReader) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    Scope readers;
    readers.Spawn(Await(pipe.a));
    EXPECT_EQ(io_->waiting(), 1u);
    co_await Yield();
    EXPECT_TRUE(outcomes_.empty());
    EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("x")), IsOk());
    EXPECT_THAT(co_await readers.Join(), IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_THAT(outcomes_, ::testing::ElementsAre(IsOk()));
  EXPECT_EQ(io_->waiting(), 0u);
}

TEST_F(EpollSelectorTest, WithNobodyWaitingThereIsNothingToWaitFor) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("x")), IsOk());
    EXPECT_THAT(co_await io_->Readable(pipe.a.fd()), IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_EQ(io_->Poll(64), 0u);  // though the byte is still there
  EXPECT_FALSE(io_->Wait(kNever));
  EXPECT_TRUE(io_->Wait(clock_.Now() - 1s));  // past already: returns
}

// An idle descriptor must not keep the loop asleep.
TEST_F(EpollSelectorTest, TimersFireWhileADescriptorIsIdle) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    Scope readers;
    readers.Spawn(Await(pipe.a));
    const Time due = loop_.Now() + 300us;
    co_await SleepUntil(due);
    EXPECT_GE(clock_.Now(), due);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(EpollSelectorTest, DeadlineEndsOneWaitAndNotItsNeighbours) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    Scope readers;
    readers.Spawn(Await(pipe.a));
    const Time deadline = loop_.Now() + 1ms;
    const absl::Status late = co_await io_->Readable(pipe.a.fd(), deadline);
    EXPECT_THAT(late, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("deadline")));
    EXPECT_GE(clock_.Now(), deadline);
    EXPECT_EQ(io_->waiting(), 1u);
    EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("x")), IsOk());
    EXPECT_THAT(co_await readers.Join(), IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_THAT(outcomes_, ::testing::ElementsAre(IsOk()));
}

TEST_F(EpollSelectorTest, WhatIsReadyIsFoundThoughTheDeadlineHasPassed) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("x")), IsOk());
    EXPECT_THAT(co_await io_->Readable(pipe.a.fd(), loop_.Now() - 1s), IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(EpollSelectorTest, DestroyedCoroutineLeavesNothingBehind) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    {
      Scope readers;
      readers.Spawn(Await(pipe.a));
      readers.Spawn(Await(pipe.a));
      co_await Yield();
      EXPECT_EQ(io_->waiting(), 2u);
    }
    EXPECT_EQ(io_->waiting(), 0u);
    EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("x")), IsOk());
    co_await Yield();
    EXPECT_THAT(co_await io_->Readable(pipe.a.fd()), IsOk());  // it can be waited for again
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_TRUE(outcomes_.empty());
}

// Woken in this turn, and destroyed before it could run.
TEST_F(EpollSelectorTest, DestroyedBetweenTheEventAndItsTurn) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    Scope readers;
    readers.Spawn(Await(pipe.a));
    EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("x")), IsOk());
    EXPECT_EQ(io_->Poll(64), 1u);
    EXPECT_EQ(io_->waiting(), 0u);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(EpollSelectorTest, DirectionsOfOneDescriptorWaitApart) {
  Pair sockets = MakeSockets();
  auto main = [&]() -> Task<void> {
    Scope tasks;
    tasks.Spawn(Await(sockets.a));
    EXPECT_THAT(co_await io_->Writable(sockets.a.fd()), IsOk());
    EXPECT_TRUE(outcomes_.empty());
    EXPECT_EQ(io_->waiting(), 1u);
    EXPECT_THAT(co_await WriteAll(sockets.b, Bytes("x")), IsOk());
    EXPECT_THAT(co_await tasks.Join(), IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_THAT(outcomes_, ::testing::ElementsAre(IsOk()));
}

TEST_F(EpollSelectorTest, PollHandlesNoMoreThanItsBudget) {
  std::vector<Pair> pipes;
  for (int i = 0; i < 5; ++i) pipes.push_back(MakePipe());
  auto main = [&]() -> Task<void> {
    Scope readers;
    for (const Pair& pipe : pipes) {
      readers.Spawn(Await(pipe.a));
      EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("x")), IsOk());
    }
    EXPECT_EQ(io_->Poll(2), 2u);
    EXPECT_EQ(io_->Poll(64), 3u);
    EXPECT_THAT(co_await readers.Join(), IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_EQ(outcomes_.size(), 5u);
}

TEST_F(EpollSelectorTest, ClosingResolvesWhoeverWaits) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    Scope readers;
    readers.Spawn(Await(pipe.a));
    readers.Spawn(Await(pipe.a));
    pipe.a.Close();
    EXPECT_EQ(io_->waiting(), 0u);
    EXPECT_THAT(co_await readers.Join(), IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_THAT(outcomes_, ::testing::ElementsAre(StatusIs(absl::StatusCode::kCancelled),
                                                StatusIs(absl::StatusCode::kCancelled)));
}

// One event wakes them all, and the first one closes the descriptor before the others run, or
// destroys it.
TEST_F(EpollSelectorTest, ClosingResolvesWhoeverWasWokenAndHasNotRun) {
  for (const bool destroy : {false, true}) {
    SCOPED_TRACE(destroy);
    outcomes_.clear();
    Pair pipe = MakePipe();
    auto first = std::make_unique<Descriptor>(std::move(pipe.a));
    auto close_it = [&]() -> Task<absl::Status> {
      CO_RETURN_IF_ERROR(co_await io_->Readable(first->fd()));
      if (destroy) {
        first.reset();
      } else {
        first->Close();
      }
      co_return absl::OkStatus();
    };
    auto read = [&](const Descriptor& from) -> Task<absl::Status> {
      std::array<std::byte, 1> room{};
      outcomes_.push_back((co_await Read(from, room)).status());
      co_return absl::OkStatus();
    };
    auto main = [&]() -> Task<void> {
      Scope readers;
      readers.Spawn(close_it());
      readers.Spawn(Await(*first));
      readers.Spawn(read(*first));
      EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("x")), IsOk());
      EXPECT_THAT(co_await readers.Join(), IsOk());
    };
    EXPECT_THAT(loop_.Run(main()), IsOk());
    EXPECT_THAT(outcomes_, ::testing::ElementsAre(StatusIs(absl::StatusCode::kCancelled),
                                                  StatusIs(absl::StatusCode::kCancelled)));
    EXPECT_EQ(io_->waiting(), 0u);
  }
}

TEST_F(EpollSelectorTest, HangUpIsNewsForEitherDirection) {
  Pair pipe = MakePipe();
  Pair other = MakePipe();
  auto main = [&]() -> Task<void> {
    std::array<std::byte, 8> room{};
    pipe.b.Close();
    EXPECT_THAT(co_await Read(pipe.a, room), IsOkAndHolds(0u));
    other.a.Close();
    EXPECT_THAT(co_await io_->Writable(other.b.fd()), IsOk());
    EXPECT_THAT(co_await WriteAll(other.b, Bytes("x")),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the peer is gone")));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(EpollSelectorTest, RefusesWhatIsNotOpen) {
  Pair pipe = MakePipe();
  const int number = pipe.a.fd();
  pipe.a.Close();
  auto main = [&]() -> Task<void> {
    EXPECT_THAT(co_await io_->Readable(-1), StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(co_await io_->Readable(number),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not open")));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_EQ(io_->waiting(), 0u);
}

TEST_F(EpollSelectorTest, FilesOnADiskAreAlwaysReady) {
  auto adopted = Descriptor::Adopt(*io_, open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSERT_THAT(adopted, IsOk());
  auto main = [&]() -> Task<void> {
    std::array<std::byte, 4> room{};
    EXPECT_THAT(co_await ReadAll(*adopted, room), IsOk());
    EXPECT_EQ(room[1], std::byte{'E'});  // an ELF file, as this test is
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

// The kernel gives the number of a closed descriptor to the next one, and has forgotten the first.
TEST_F(EpollSelectorTest, NumbersComeBack) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK), 0);
  auto main = [&](int read_end, int write_end) -> Task<void> {
    EXPECT_EQ(write(write_end, "x", 1), 1);
    EXPECT_THAT(co_await io_->Readable(read_end), IsOk());
  };
  EXPECT_THAT(loop_.Run(main(ends[0], ends[1])), IsOk());
  close(ends[0]);  // behind the selector's back
  close(ends[1]);
  std::array<int, 2> again{};
  ASSERT_EQ(pipe2(again.data(), O_NONBLOCK), 0);
  ASSERT_EQ(again[0], ends[0]);
  EXPECT_THAT(loop_.Run(main(again[0], again[1])), IsOk());
  close(again[0]);
  close(again[1]);
}

// A peer that never stops talking does not keep the loop from its other work.
TEST_F(EpollSelectorTest, ReadersTakeTurnsWithEverybodyElse) {
  Pair pipe = MakePipe();
  int turns = 0;
  auto count = [&]() -> Task<absl::Status> {
    for (;; ++turns) co_await Yield();
  };
  auto main = [&]() -> Task<void> {
    Scope others;
    others.Spawn(count());
    EXPECT_THAT(co_await WriteAll(pipe.b, Bytes(std::string(50, 'x'))), IsOk());
    std::array<std::byte, 1> room{};
    for (int i = 0; i < 50; ++i) EXPECT_THAT(co_await Read(pipe.a, room), IsOkAndHolds(1u));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_GE(turns, 49);
}

TEST_F(EpollSelectorTest, ReadAllSaysWhereItEnded) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    EXPECT_THAT(co_await WriteAll(pipe.b, Bytes("abc")), IsOk());
    pipe.b.Close();
    std::array<std::byte, 4> room{};
    EXPECT_THAT(co_await ReadAll(pipe.a, room),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("after 3 of 4 bytes")));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(EpollSelectorTest, WriterWaitsForRoom) {
  Pair pipe = MakePipe();
  const std::string text(1 << 20, 'x');  // more than a pipe holds
  std::vector<std::byte> room(text.size());
  auto main = [&]() -> Task<void> {
    const auto [written, read] =
        co_await WhenAll(WriteAll(pipe.b, Bytes(text)), ReadAll(pipe.a, room));
    EXPECT_THAT(written, IsOk());
    EXPECT_THAT(read, IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_EQ(room.back(), std::byte{'x'});
}

// A source that can only be polled, such as a completion queue.
class PolledSource final : public Selector {
 public:
  explicit PolledSource(EventLoop& loop) : loop_(loop) { loop_.AddSelector(*this); }
  ~PolledSource() override { loop_.RemoveSelector(*this); }
  std::size_t Poll(std::size_t) override {
    ++polls;
    return 0;
  }
  int polls = 0;

 private:
  EventLoop& loop_;
};

TEST_F(EpollSelectorTest, WorksBesideASourceThatCanOnlyBePolled) {
  PolledSource polled(loop_);
  Pair pipe = MakePipe();
  auto write_later = [&]() -> Task<absl::Status> {
    co_await Sleep(3ms);  // longer than the loop polls without pause
    co_return co_await WriteAll(pipe.b, Bytes("x"));
  };
  auto main = [&]() -> Task<void> {
    Scope writers;
    writers.Spawn(write_later());
    EXPECT_THAT(co_await io_->Readable(pipe.a.fd()), IsOk());
    EXPECT_THAT(co_await writers.Join(), IsOk());
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_GT(polled.polls, 1);
}

TEST_F(EpollSelectorTest, MustOutliveItsWaiters) {
  Pair pipe = MakePipe();
  auto main = [&]() -> Task<void> {
    Scope readers;
    readers.Spawn(Await(pipe.a));
    EXPECT_DEATH(io_.reset(), "still waits for a descriptor");
    co_await Yield();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

// ---- tcp.h ----

using TcpTest = EpollSelectorTest;

TEST_F(TcpTest, ConnectionsCarryBothWays) {
  ASSERT_OK_AND_ASSIGN(const Descriptor listener, Listen(*io_, TcpAddress::Loopback(0)));
  ASSERT_OK_AND_ASSIGN(const TcpAddress address, LocalAddress(listener));
  EXPECT_GT(address.port(), 0);
  auto main = [&]() -> Task<void> {
    auto [accepted, connected] = co_await WhenAll(Accept(listener), Connect(*io_, address));
    EXPECT_THAT(accepted, IsOk());
    EXPECT_THAT(connected, IsOk());
    std::array<std::byte, 4> room{};
    EXPECT_THAT(co_await WriteAll(*accepted, Bytes("ping")), IsOk());
    EXPECT_THAT(co_await ReadAll(*connected, room), IsOk());
    EXPECT_THAT(co_await WriteAll(*connected, Bytes("pong")), IsOk());
    EXPECT_THAT(co_await ReadAll(*accepted, room), IsOk());
    EXPECT_EQ(room[1], std::byte{'o'});
    connected->Close();
    EXPECT_THAT(co_await Read(*accepted, room), IsOkAndHolds(0u));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(TcpTest, NobodyListensThere) {
  // Bound, so that no other socket can listen there.
  const Descriptor bound(*io_, socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  const TcpAddress any = TcpAddress::Loopback(0);
  ASSERT_EQ(bind(bound.fd(), any.data(), any.size_bytes()), 0);
  ASSERT_OK_AND_ASSIGN(const TcpAddress address, LocalAddress(bound));
  EXPECT_THAT(loop_.Run(Connect(*io_, address)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nobody listens there")));
}

// Here one that takes nothing for a while: its window is closed.
TEST_F(TcpTest, PeerThatTheKernelGivesUpIsGoneAndNoDeadlineHasPassed) {
  ASSERT_OK_AND_ASSIGN(const Descriptor listener, Listen(*io_, TcpAddress::Loopback(0)));
  ASSERT_OK_AND_ASSIGN(const TcpAddress address, LocalAddress(listener));
  auto main = [&]() -> Task<void> {
    auto [accepted, connected] = co_await WhenAll(Accept(listener), Connect(*io_, address));
    EXPECT_THAT(accepted, IsOk());
    EXPECT_THAT(connected, IsOk());
    const unsigned patience_ms = 1;
    EXPECT_EQ(setsockopt(connected->fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms,
                         sizeof(patience_ms)),
              0);
    const std::vector<std::byte> more_than_the_kernel_keeps(64 << 20);
    EXPECT_THAT(co_await WriteAll(*connected, more_than_the_kernel_keeps),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the peer is gone")));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(TcpTest, AcceptGivesUpAtItsDeadline) {
  ASSERT_OK_AND_ASSIGN(const Descriptor listener, Listen(*io_, TcpAddress::Loopback(0)));
  EXPECT_THAT(loop_.Run(Accept(listener, clock_.Now() + 1ms)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(TcpAddressTest, ReadsHostAndPort) {
  const auto text = [](const std::string& from) {
    return TcpAddress::Resolve(from).value().ToString();
  };
  EXPECT_EQ(text("127.0.0.1:7"), "127.0.0.1:7");
  EXPECT_EQ(text("[::1]:65535"), "[::1]:65535");
  EXPECT_EQ(TcpAddress::Any(0).ToString(), "0.0.0.0:0");
  EXPECT_EQ(TcpAddress::Loopback(9).ToString(), "127.0.0.1:9");
  for (const char* bad :
       {"", "7", ":7", "host", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1"}) {
    EXPECT_THAT(TcpAddress::Resolve(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")))
        << bad;
  }
}

// ---- signals.h ----

using SignalsTest = EpollSelectorTest;

TEST_F(SignalsTest, ComeToTheCoroutine) {
  ASSERT_OK_AND_ASSIGN(auto signals, Signals::Open(*io_, {SIGUSR1, SIGUSR2}));
  auto main = [&]() -> Task<void> {
    EXPECT_THAT(co_await signals->Next(loop_.Now() + 1ms),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
    std::raise(SIGUSR2);  // would end the test
    EXPECT_THAT(co_await signals->Next(), IsOkAndHolds(SIGUSR2));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(SignalsTest, HaveTheirUsualEffectAfterwards) {
  ASSERT_THAT(Signals::Open(*io_, {SIGUSR1}), IsOk());
  EXPECT_EXIT(std::raise(SIGUSR1), ::testing::KilledBySignal(SIGUSR1), "");
}

// The one that is gone takes nothing from one that was opened later.
TEST_F(SignalsTest, EachGivesBackItsOwn) {
  ASSERT_OK_AND_ASSIGN(auto first, Signals::Open(*io_, {SIGUSR1}));
  ASSERT_OK_AND_ASSIGN(auto second, Signals::Open(*io_, {SIGUSR2}));
  first.reset();
  EXPECT_EXIT(std::raise(SIGUSR1), ::testing::KilledBySignal(SIGUSR1), "");
  auto main = [&]() -> Task<void> {
    std::raise(SIGUSR2);  // would end the test
    EXPECT_THAT(co_await second->Next(), IsOkAndHolds(SIGUSR2));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  second.reset();
  EXPECT_EXIT(std::raise(SIGUSR2), ::testing::KilledBySignal(SIGUSR2), "");
}

TEST_F(SignalsTest, RefuseWhatCannotBeCaught) {
  for (const int signal : {SIGKILL, SIGSTOP, 0, 1000}) {
    EXPECT_THAT(Signals::Open(*io_, {signal}), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace drydock::coro
