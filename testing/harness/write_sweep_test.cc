// The sweep tests' own example: a write, announced by its immediate, in which every step fails
// once, and from there on. And two bodies that do not survive one.

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/testing/harness/sweep_test.h"
#include "gmock/gmock.h"

namespace {

using drydock::fabric::async::BufferRef;
using drydock::fabric::async::Node;
using drydock::fabric::faults::Fault;
using drydock::harness::SurvivesSweep;
using drydock::sim::explore::OpenNodes;
using drydock::sim::explore::Trial;
using ::testing::HasSubstr;

drydock::coro::Task<absl::Status> WriteOnce(Node& from, BufferRef source,
                                            drydock::fabric::RemoteBuffer target) {
  drydock::fabric::async::OperationOptions options;
  options.immediate = 1;
  const drydock::fabric::Completion written =
      co_await from.endpoint().Write(source, target, from.peer(1), options);
  co_return from.endpoint().ToStatus(written, "write");
}

DD_SWEEP_TEST(Write, EveryStepMayFail, {.seed = 3}) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, drydock::coro::EventLoop::Current(), 2));
  Node& target = *machines[1];
  CO_ASSIGN_OR_RETURN(const BufferRef source, machines[0]->Allocate(20000));
  CO_ASSIGN_OR_RETURN(const BufferRef landed, target.Allocate(20000));
  std::fill(source->bytes().begin(), source->bytes().end(), std::byte{42});
  drydock::fabric::async::ImmediateCounter announced(target.dispatcher(), 1);
  CO_RETURN_IF_ERROR(co_await WriteOnce(*machines[0], source, landed->region().remote()));
  const drydock::coro::Time deadline =
      drydock::coro::After(drydock::coro::EventLoop::Current().Now(), std::chrono::seconds(1));
  const bool came = co_await announced.Reached(1, deadline);
  if (!came) co_return absl::DeadlineExceededError("no immediate came");
  if (!std::equal(source->bytes().begin(), source->bytes().end(), landed->bytes().begin())) {
    co_return drydock::harness::WrongData("the immediate came before its bytes");
  }
  co_return absl::OkStatus();
}

// Takes a write that failed for one that did not.
drydock::coro::Task<absl::Status> Careless(Trial& trial) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, drydock::coro::EventLoop::Current(), 2));
  CO_ASSIGN_OR_RETURN(const BufferRef source, machines[0]->Allocate(100));
  CO_ASSIGN_OR_RETURN(const BufferRef landed, machines[1]->Allocate(100));
  for (int i = 0; i < 3; ++i) {
    std::fill(source->bytes().begin(), source->bytes().end(), static_cast<std::byte>(i + 1));
    const absl::Status written =
        co_await WriteOnce(*machines[0], source, landed->region().remote());
    if (!written.ok() && i < 2) co_return written;
  }
  if (landed->bytes()[0] != std::byte{3}) co_return drydock::harness::WrongData("the last write");
  co_return absl::OkStatus();
}

TEST(SweepTestTest, NamesTheEventAndItsPlan) {
  const auto result =
      SurvivesSweep("Some.Test", {.seed = 5}, &Careless, {Fault::kRemoteAddress, false});
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("Some.Test fails with remote_address at its event 3"));
  EXPECT_THAT(result.message(), HasSubstr("(seed 5): wrong-data: the last write"));
  EXPECT_THAT(result.message(), HasSubstr("\"nth\": 3"));
}

TEST(SweepTestTest, FaultThatTheBodyReportsIsFine) {
  EXPECT_TRUE(SurvivesSweep("Some.Test", {}, &Careless, {Fault::kOpenEndpointFails, true}));
}

}  // namespace
