// Who calls a receiver: the silent, the wrong, the late, and more than there are descriptors for.

#include "drydock/apps/batch/reception.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drydock/apps/common/frames.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/coro/tcp.h"
#include "drydock/coro/when_all.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::batch {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

std::vector<std::byte> Greeting(std::uint64_t seed) {
  Hello hello;
  hello.load.nics_per_gpu = 1;
  hello.seed = seed;
  PeerDescriptor engine;
  const std::vector<std::uint8_t> address = {1, 2, 3};
  engine.nics = {*fabric::Address::FromBytes(address)};
  hello.engines.push_back(engine);
  return hello.Serialize();
}
std::vector<std::byte> Nonsense() { return std::vector<std::byte>(4, std::byte{'?'}); }

// Callers connect first, and are heard when the reception opens: the kernel keeps them until then.
class ReceptionTest : public ::testing::Test {
 protected:
  // Less than a caller's five seconds: one that is waited for would be one too many.
  static constexpr coro::Duration kLongest = 4s;

  coro::Descriptor Connect() { return loop_.Run(coro::Connect(*io_, at_)).value(); }
  coro::Descriptor Call(std::vector<std::byte> words) {
    coro::Descriptor caller = Connect();
    EXPECT_THAT(loop_.Run(SendFrame(caller, std::move(words), coro::kNever)), IsOk());
    return caller;
  }
  std::vector<coro::Descriptor> SilentCallers(std::size_t count) {
    std::vector<coro::Descriptor> callers;
    for (std::size_t i = 0; i < count; ++i) callers.push_back(Connect());
    return callers;
  }
  coro::Task<absl::StatusOr<Caller>> AwaitFirst(coro::Duration longest) {
    return AwaitSender(listener_, log_, clock_.Now() + longest);
  }
  absl::StatusOr<Caller> Await(coro::Duration longest = kLongest) {
    return loop_.Run(AwaitFirst(longest));
  }
  // What a caller was told; its connection's end otherwise.
  absl::StatusOr<std::string> RefusalOf(const coro::Descriptor& caller) {
    ASSIGN_OR_RETURN(const std::vector<std::byte> words,
                     loop_.Run(ReceiveFrame(caller, kMostMessageBytes, clock_.Now() + kLongest)));
    ASSIGN_OR_RETURN(const Ready ready, Ready::Parse(words));
    return ready.refusal;
  }

  coro::SteadyClock clock_;
  coro::EventLoop loop_{clock_};
  std::unique_ptr<coro::EpollSelector> io_ = coro::EpollSelector::Open(loop_).value();
  coro::Descriptor listener_ = coro::Listen(*io_, coro::TcpAddress::Loopback(0)).value();
  coro::TcpAddress at_ = coro::LocalAddress(listener_).value();
  std::vector<std::string> lines_;
  const LogLine log_ = [this](absl::string_view, absl::string_view text) {
    lines_.emplace_back(text);
  };
};

TEST_F(ReceptionTest, SilentCallersAreNotInTheWay) {
  const auto silent = SilentCallers(kMostCallers - 1);
  const coro::Descriptor sender = Call(Greeting(9));
  ASSERT_OK_AND_ASSIGN(const Caller found, Await());
  EXPECT_EQ(found.hello.seed, 9u);
}

TEST_F(ReceptionTest, WhoIsNoSenderIsToldAndLeavesItsPlace) {
  std::vector<coro::Descriptor> wrong;
  for (std::size_t i = 0; i < kMostCallers + 1; ++i) wrong.push_back(Call(Nonsense()));
  const coro::Descriptor sender = Call(Greeting(9));
  ASSERT_OK_AND_ASSIGN(const Caller found, Await());
  EXPECT_EQ(found.hello.seed, 9u);
  EXPECT_THAT(RefusalOf(wrong.front()), IsOkAndHolds(HasSubstr("another form than batch's")));
  EXPECT_THAT(lines_.front(), HasSubstr("another form than batch's"));
}

// Two greet at the same moment: the other one's connection ends.
TEST_F(ReceptionTest, OneOfTwoSendersIsTaken) {
  const coro::Descriptor first = Connect();
  const coro::Descriptor second = Connect();
  const auto greet = [&]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await SendFrame(first, Greeting(1), coro::kNever));
    co_return co_await SendFrame(second, Greeting(2), coro::kNever);
  };
  const auto both = [&]() -> coro::Task<absl::StatusOr<Caller>> {
    coro::Task<absl::StatusOr<Caller>> found = AwaitSender(
        listener_, [](absl::string_view, absl::string_view) {}, coro::kNever);
    auto [sender, greeted] = co_await coro::WhenAll(std::move(found), greet());
    CO_RETURN_IF_ERROR(greeted);
    co_return std::move(sender);
  };
  ASSERT_OK_AND_ASSIGN(const Caller taken, loop_.Run(both()));
  const coro::Descriptor& other = taken.hello.seed == 1 ? second : first;
  EXPECT_THAT(RefusalOf(other), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ReceptionTest, NoSenderComesInTime) {
  const auto silent = SilentCallers(2);
  EXPECT_THAT(Await(20ms), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                    HasSubstr("its sender has not come in time")));
}

// Descriptors that the process may have, as long as this lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t descriptors) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{.rlim_cur = descriptors, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// The number of the next descriptor, where all below it are taken.
rlim_t NextDescriptor() {
  const int next = dup(0);
  close(next);
  return static_cast<rlim_t>(next);
}

// Without descriptors the receiver waits until a caller gives one back.
TEST_F(ReceptionTest, MoreCallersThanDescriptors) {
  auto silent = SilentCallers(8);
  const coro::Descriptor sender = Call(Greeting(9));  // behind all of them
  const auto some_go = [&]() -> coro::Task<absl::Status> {
    co_await coro::Sleep(200ms);
    silent.clear();
    co_return absl::OkStatus();
  };
  bool was_in_the_way = false;
  const auto find = [&]() -> coro::Task<absl::StatusOr<Caller>> {
    absl::StatusOr<Caller> found = co_await AwaitFirst(kLongest);
    was_in_the_way = silent.empty();
    co_return found;
  };
  const auto both = [&]() -> coro::Task<absl::StatusOr<Caller>> {
    auto [found, gone] = co_await coro::WhenAll(find(), some_go());
    CO_RETURN_IF_ERROR(gone);
    co_return std::move(found);
  };
  const DescriptorLimit limit(NextDescriptor() + 4);
  ASSERT_OK_AND_ASSIGN(const Caller found, loop_.Run(both()));
  EXPECT_EQ(found.hello.seed, 9u);
  EXPECT_TRUE(was_in_the_way);
}

TEST_F(ReceptionTest, NoDescriptorForAnybody) {
  const auto silent = SilentCallers(1);
  const DescriptorLimit limit(NextDescriptor());
  EXPECT_THAT(Await(), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace drydock::apps::batch
