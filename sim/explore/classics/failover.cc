#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/explore/classics/classics.h"
#include "drydock/sim/explore/classics/program.h"
#include "drydock/sim/explore/needs.h"

namespace drydock::sim::explore {
namespace {

using fabric::async::BufferRef;

constexpr std::size_t kBytes = 256;
// A silent peer is reported after 2 s, as the profile guesses: one second more must be enough.
constexpr coro::Duration kPatience = std::chrono::seconds(3);

class Program {
 public:
  explicit Program(Trial& trial) : trial_(trial), loop_(trial.clock()) {}

  Outcome Run() {
    const absl::Status opened = Open();
    if (!opened.ok()) return Outcome::Of(opened);
    return Outcome::Of(loop_.Run(Send()));
  }

 private:
  absl::Status Open() {
    ASSIGN_OR_RETURN(auto sender, OpenNode(trial_, loop_, "sender"));
    nodes_.push_back(std::move(sender));
    dying_ = &trial_.world().AddNode("first");
    ASSIGN_OR_RETURN(auto fabric, trial_.Decorate(OpenSimFabric(trial_.world(), *dying_)));
    ASSIGN_OR_RETURN(auto first, fabric::async::Node::Open(loop_, std::move(fabric)));
    nodes_.push_back(std::move(first));
    return fabric::async::Introduce(nodes_);
  }

  // A message that arrives, and then one to a machine that has died.
  coro::Task<absl::Status> Send() {
    fabric::async::AsyncEndpoint& endpoint = nodes_[0]->endpoint();
    CO_ASSIGN_OR_RETURN(const BufferRef inbox, nodes_[1]->Allocate(kBytes));
    CO_ASSIGN_OR_RETURN(const BufferRef page, nodes_[0]->Allocate(kBytes));
    fabric::async::MessageReceiver receiver(nodes_[1]->endpoint(), inbox, 1, kBytes, 1);
    FillKeyed(page->bytes(), trial_.seed());
    fabric::async::OperationOptions options;
    options.deadline = GiveUpTime();
    const fabric::Completion heard = co_await endpoint.Send(page, nodes_[0]->peer(1), options);
    CO_RETURN_IF_ERROR(endpoint.ToStatus(heard, "send to the first machine"));
    dying_->Kill();
    options.deadline = coro::After(loop_.Now(), kPatience);
    const fabric::Completion sent = co_await endpoint.Send(page, nodes_[0]->peer(1), options);
    if (sent.error == fabric::ErrorCode::kDeadlineExceeded) {
      co_return absl::DeadlineExceededError(
          "after 3 s the NIC has neither sent the page nor given it back");
    }
    co_return absl::OkStatus();  // the machine is dead, and the NIC has said so: another one's turn
  }

  Trial& trial_;
  coro::EventLoop loop_;
  Node* dying_ = nullptr;
  Nodes nodes_;
};

class FailoverScenario final : public Scenario {
 public:
  std::string_view name() const override { return "failover"; }
  std::string_view description() const override {
    return "its peer dies; it waits 3 s for the NIC to say so: right only where time-outs are "
           "short";
  }
  std::optional<Needs> needs(const Parameters&) const override {
    return Needs{.registrations = 1, .address_handles = 1, .completions = 2};
  }
  Outcome Run(Trial& trial) const override { return Program(trial).Run(); }
};

}  // namespace

const Scenario& Failover() {
  static const FailoverScenario scenario;
  return scenario;
}

}  // namespace drydock::sim::explore
