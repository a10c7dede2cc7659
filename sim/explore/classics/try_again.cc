// A copy that begins anew until it succeeds, each time on new machines: the old ones may be dead,
// cut off, or full of late messages.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/coverage/points.h"
#include "drydock/sim/explore/classics/classics.h"
#include "drydock/sim/explore/classics/program.h"
#include "drydock/sim/explore/needs.h"

namespace drydock::sim::explore {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::ImmediateCounter;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"blocks", 4, 1, 1024, "that are copied at once"},
    Parameter{"block_bytes", 1024, 8, 1 << 20, "bytes of a block"},
};
constexpr std::uint32_t kBlock = 0x400;

// It waits longer from attempt to attempt. The faults must heal before it gives up.
constexpr coro::Duration kFirstPause = std::chrono::microseconds(100);
constexpr coro::Duration kLongestPause = std::chrono::seconds(1);
constexpr coro::Duration kPatience = std::chrono::seconds(10);

coro::Task<absl::Status> WriteBlock(fabric::async::Node& from, BufferSlice block,
                                    fabric::RemoteBuffer target) {
  fabric::async::OperationOptions options;
  options.immediate = kBlock;
  options.deadline = GiveUpTime();
  const fabric::Completion written =
      co_await from.endpoint().Write(block, target, from.peer(1), options);
  co_return from.endpoint().ToStatus(written, "write a block");
}

coro::Task<absl::Status> Copy(Trial& trial, Nodes& machines, Truth& truth) {
  const std::size_t blocks = trial.parameter("blocks");
  const std::size_t bytes = trial.parameter("block_bytes");
  CO_ASSIGN_OR_RETURN(const BufferRef from, machines[0]->Allocate(blocks * bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef to, machines[1]->Allocate(blocks * bytes));
  FillKeyed(from->bytes(), trial.seed());
  ImmediateCounter arrived(machines[1]->dispatcher(), kBlock);
  std::vector<coro::Task<absl::Status>> writes;
  for (std::size_t i = 0; i < blocks; ++i) {
    writes.push_back(WriteBlock(*machines[0], BufferSlice(from, i * bytes, bytes),
                                to->region().Remote(i * bytes)));
  }
  const std::vector<absl::Status> ends = co_await coro::WhenAll(std::move(writes));
  CO_RETURN_IF_ERROR(FirstError(ends));
  const bool all = co_await arrived.Reached(blocks, GiveUpTime());
  if (!all) {
    co_return absl::DeadlineExceededError(
        absl::StrCat(arrived.count(), " of ", blocks, " blocks came"));
  }
  if (!HoldsKeyed(to->bytes(), trial.seed()))
    truth.Wrong("a block that was announced is not there");
  co_return absl::OkStatus();
}

absl::Status Attempt(Trial& trial, coro::EventLoop& loop, Truth& truth) {
  auto machines = OpenNodes(trial, loop, 2);
  RETURN_IF_ERROR(machines.status());
  return loop.Run(Copy(trial, *machines, truth));
}

coro::Task<absl::Status> Pause(coro::Duration duration) {
  co_await coro::Sleep(duration);
  co_return absl::OkStatus();
}

class TryAgainScenario final : public Scenario {
 public:
  std::string_view name() const override { return "try-again"; }
  std::string_view description() const override {
    return "four blocks are copied; what fails begins anew on new machines, for 10 s";
  }
  std::span<const Parameter> parameters() const override { return kParameters; }
  std::optional<Needs> needs(const Parameters& parameters) const override {
    return Needs{.registrations = 1, .address_handles = 1, .completions = parameters.at("blocks")};
  }
  bool retries() const override { return true; }

  Outcome Run(Trial& trial) const override {
    coro::EventLoop loop(trial.clock());
    Truth truth;
    const coro::Time deadline = coro::After(loop.Now(), kPatience);
    for (coro::Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      const absl::Status status = Attempt(trial, loop, truth);
      fabric::coverage::Sometimes("try-again: not the first attempt",
                                  pause > kFirstPause && status.ok());
      if (!truth.wrong().empty() || status.ok() || loop.Now() >= deadline) {
        return truth.OutcomeOf(status);
      }
      if (const absl::Status slept = loop.Run(Pause(pause)); !slept.ok()) return Outcome::Of(slept);
    }
  }
};

}  // namespace

const Scenario& TryAgain() {
  static const TryAgainScenario scenario;
  return scenario;
}

}  // namespace drydock::sim::explore
