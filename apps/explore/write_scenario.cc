#include "drydock/apps/explore/write_scenario.h"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/apps/write/messages.h"
#include "drydock/apps/write/sides.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/nodes.h"

namespace drydock::apps {
namespace {

using sim::explore::Needs;
using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Parameters;
using sim::explore::Trial;
using write::CompletionMode;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"pages", 8, 1, 1024, "that are written in each of the two regions"},
    Parameter{"page_bytes", 4096, 64, 1 << 20, "bytes of a page"},
};
// Every second page of a region is written.
constexpr std::size_t kSpare = 2;
constexpr coro::Duration kTimeout = std::chrono::seconds(1);

struct TransferOptions {
  write::ServerOptions server;
  write::ClientOptions client;
};

TransferOptions OptionsFor(const Trial& trial, CompletionMode completion) {
  TransferOptions options;
  options.client.page_bytes = trial.parameter("page_bytes");
  options.client.page_count = trial.parameter("pages");
  options.client.region_bytes = options.server.region_bytes =
      kSpare * options.client.page_count * options.client.page_bytes;
  options.client.completion = completion;
  options.client.data_seed = trial.seed();
  options.client.silence_timeout = options.server.write_timeout = kTimeout;
  return options;
}

absl::StatusOr<TransferReport> RunOnce(Trial& trial, const TransferOptions& options) {
  coro::EventLoop loop(trial.clock());
  ASSIGN_OR_RETURN(const auto server, OpenNode(trial, loop, "server"));
  ASSIGN_OR_RETURN(const auto client, OpenNode(trial, loop, "client"));
  ASSIGN_OR_RETURN(write::Sides sides,
                   write::OpenBoth(*server, options.server, *client, options.client));
  const absl::StatusOr<TransferReport> report = loop.Run(write::RunTransfer(sides));
  if (report.ok()) trial.world().CheckRequests();
  return report;
}

class Scenario final : public sim::explore::Scenario {
 public:
  Scenario(std::string_view name, std::string_view description, CompletionMode completion)
      : name_(name), description_(description), completion_(completion) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }

  std::span<const Parameter> parameters() const override { return kParameters; }
  // The server: messages, two regions, answers; and a completion for each page and message.
  std::optional<Needs> needs(const Parameters& parameters) const override {
    return Needs{
        .registrations = 6, .address_handles = 1, .completions = 2 * parameters.at("pages") + 8};
  }

  Outcome Run(Trial& trial) const override {
    const absl::StatusOr<TransferReport> report = RunOnce(trial, OptionsFor(trial, completion_));
    if (!report.ok()) return Outcome::Of(report.status());
    const Verification& verification = report->verification;
    return verification.correct() ? Outcome::Of(absl::OkStatus())
                                  : Outcome::WrongData(Describe(verification));
  }

 private:
  const std::string_view name_;
  const std::string_view description_;
  const CompletionMode completion_;
};

}  // namespace

const sim::explore::Scenario& WriteScenario() {
  static const Scenario scenario("write", "a server writes 16 pages; the client counts them",
                                 CompletionMode::kCount);
  return scenario;
}

const sim::explore::Scenario& WriteLastScenario() {
  static const Scenario scenario("write-last",
                                 "the same, but the client trusts the last write: wrong on EFA",
                                 CompletionMode::kLast);
  return scenario;
}

}  // namespace drydock::apps
