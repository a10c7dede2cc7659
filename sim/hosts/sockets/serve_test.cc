#include "drydock/sim/hosts/sockets/serve.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/hosts/sockets/call.h"
#include "drydock/sim/hosts/sockets/key.h"
#include "drydock/sim/hosts/sockets/membership.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/sim/testing/unique_name.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

// At an address of this computer that no other test has drawn: a port of 127.0.0.1 that is free now
// may be anybody's a moment later.
sim::NetworkName FreshNetwork() {
  std::random_device device;
  std::string host = "127";
  for (int i = 0; i < 3; ++i) absl::StrAppend(&host, ".", 1 + device() % 254);
  return {.host = host, .port = 7471};
}

class ServeTest : public testing::Test {
 protected:
  ~ServeTest() override { unlink(key_file_.c_str()); }

  absl::Status Call(coro::Duration patience) {
    return sim::CallRendezvous(network_.Text(), key_file_, patience).status();
  }

  const sim::NetworkName network_ = FreshNetwork();
  const std::string key_file_ = testing::TempDir() + "/" + UniqueName("key");
};

TEST_F(ServeTest, TheFirstOneServes) {
  ChildProcess first([this](Talk& talk) {
    talk.Say(*sim::ServeIfFirst(network_, key_file_));
    talk.Hear<bool>();
  });
  EXPECT_TRUE(first.talk().Hear<bool>());
  EXPECT_TRUE(Call(10s).ok()) << Call(10s);
  const absl::StatusOr<bool> second = sim::ServeIfFirst(network_, key_file_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(*second);
}

TEST_F(ServeTest, AStarterWithoutStandardFilesServes) {
  ChildProcess first([this](Talk& talk) {
    for (const int fd : {0, 1, 2}) close(fd);
    talk.Say(*sim::ServeIfFirst(network_, key_file_));
    talk.Hear<bool>();
  });
  EXPECT_TRUE(first.talk().Hear<bool>());
  EXPECT_TRUE(Call(10s).ok()) << Call(10s);
}

// A server that lacks one of its files would serve nobody, or never end. One that has just enough
// lets go of the program's files all the same.
TEST_F(ServeTest, AStarterWithTooFewFilesIsTold) {
  ASSERT_TRUE(sim::ReadOrMakeKey(key_file_).ok());
  int input[2];
  ASSERT_EQ(pipe(input), 0);
  ChildProcess first([&](Talk& talk) {
    EXPECT_EQ(dup2(input[1], 0), 0);
    for (const int fd : input) close(fd);
    rlimit files{};
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    const rlimit before = files;
    absl::StatusOr<bool> served = absl::UnknownError("not tried");
    for (files.rlim_cur = 3; !served.ok() && files.rlim_cur < 100; ++files.rlim_cur) {
      EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
      served = sim::ServeIfFirst(network_, key_file_);
      EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    }
    EXPECT_TRUE(served.ok() && *served) << served.status();
    close(0);
    talk.Say(true);
    talk.Hear<bool>();
  });
  close(input[1]);
  first.talk().Hear<bool>();
  pollfd left{.fd = input[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&left, 1, 100'000), 1);
  close(input[0]);
  EXPECT_TRUE(Call(10s).ok()) << Call(10s);
  first.talk().Say(true);
  EXPECT_EQ(first.Wait(), 0);
}

TEST_F(ServeTest, ItStaysUntilTheLastMemberHasLeft) {
  auto starter = std::make_unique<ChildProcess>([this](Talk& talk) {
    EXPECT_TRUE(*sim::ServeIfFirst(network_, key_file_));
    EXPECT_EQ(waitpid(-1, nullptr, 0), -1);  // it is no child of ours
    EXPECT_EQ(errno, ECHILD);
    talk.Say(true);
    talk.Hear<bool>();
  });
  starter->talk().Hear<bool>();
  auto called = sim::CallRendezvous(network_.Text(), key_file_, 10s);
  ASSERT_TRUE(called.ok()) << called.status();
  auto member = sim::Membership::Join(std::move(called->stream), 1, {}, 1, 1);
  ASSERT_TRUE(member.ok()) << member.status();
  starter->talk().Say(true);
  EXPECT_EQ(starter->Wait(), 0);
  starter.reset();
  usleep(6'000'000);  // longer than it lingers
  EXPECT_TRUE(Call(10s).ok());
  member->reset();
  for (int i = 0; i < 200 && Call(0s).ok(); ++i) usleep(100'000);
  EXPECT_EQ(Call(0s).code(), absl::StatusCode::kUnavailable);
}

// A program that an efa-run has become may open its first NIC when all others have ended.
TEST_F(ServeTest, ItStaysUntilTheLastProgramHasEnded) {
  auto starter = std::make_unique<ChildProcess>([this](Talk& talk) {
    EXPECT_TRUE(*sim::ServeIfFirst(network_, key_file_));
    talk.Say(true);
    talk.Hear<bool>();
  });
  starter->talk().Hear<bool>();
  int input[2];
  ASSERT_EQ(pipe(input), 0);
  ChildProcess program([&](Talk& talk) {
    auto called = sim::CallRendezvous(network_.Text(), key_file_, 10s);
    EXPECT_TRUE(called.ok()) << called.status();
    sim::KeepThroughExec(std::move(called->stream));
    talk.Say(true);
    EXPECT_EQ(dup2(input[0], 0), 0);
    for (const int fd : input) close(fd);
    execl("/bin/cat", "cat", nullptr);
  });
  program.talk().Hear<bool>();
  starter->talk().Say(true);
  EXPECT_EQ(starter->Wait(), 0);
  starter.reset();
  usleep(11'000'000);  // longer than it lingers after having dropped whoever is nothing
  EXPECT_TRUE(Call(10s).ok());
  close(input[0]);
  close(input[1]);
  EXPECT_EQ(program.Wait(), 0);
  for (int i = 0; i < 200 && Call(0s).ok(); ++i) usleep(100'000);
  EXPECT_EQ(Call(0s).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ServeTest, AnAddressOfAnotherComputerIsLeftToIt) {
  // TEST-NET-1: no computer's (RFC 5737).
  const absl::StatusOr<bool> served =
      sim::ServeIfFirst({.host = "192.0.2.1", .port = 7471}, key_file_);
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_FALSE(*served);
  EXPECT_NE(access(key_file_.c_str(), F_OK), 0);
}

TEST_F(ServeTest, NoKeyNoService) {
  EXPECT_EQ(sim::ServeIfFirst(network_, "/nowhere/key").status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(
      sim::ServeIfFirst({.host = "no.such.host.invalid", .port = 1}, key_file_).status().code(),
      absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace drydock::sim_testing
