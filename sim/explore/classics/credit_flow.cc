// A producer with credits. Message n goes to slot n modulo the number of slots; its immediate names
// the slot, because only that is certain of a write that may overtake others. The consumer takes
// messages in their order and gives one credit back for each.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/wait_list.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/coverage/points.h"
#include "drydock/sim/explore/classics/classics.h"
#include "drydock/sim/explore/classics/program.h"
#include "drydock/sim/explore/needs.h"

namespace drydock::sim::explore {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::ImmediateCounter;

constexpr std::array<Parameter, 3> kParameters = {
    Parameter{"messages", 16, 1, 100000, "that are produced"},
    Parameter{"slots", 4, 1, 256, "of the consumer"},
    Parameter{"message_bytes", 1024, 8, 1 << 20, "bytes of a message"},
};
constexpr std::size_t kCreditBytes = 8;
constexpr std::uint32_t kCredit = 0x200;

constexpr std::uint32_t ImmediateOf(std::size_t slot) {
  return 0x100 + static_cast<std::uint32_t>(slot);
}

struct Sizes {
  std::size_t messages = 0;
  std::size_t slots = 0;
  std::size_t bytes = 0;  // of a message
};

struct Producer {
  Sizes sizes;
  fabric::async::Node& machine;
  fabric::Peer consumer;
  BufferRef out;  // a slot for each of the consumer's
  fabric::RemoteBuffer slots;
  ImmediateCounter credits;
  std::vector<bool> in_flight = std::vector<bool>(sizes.slots);
  absl::Status failure = absl::OkStatus();
  coro::WaitList changed = {};  // in_flight
};

struct Consumer {
  Sizes sizes;
  fabric::async::Node& machine;
  fabric::Peer producer;
  BufferRef slots;
  BufferRef out;  // a credit's bytes: always the same
  fabric::RemoteBuffer credit;
  std::vector<std::unique_ptr<ImmediateCounter>> arrived;  // index: slot
};

coro::Task<absl::Status> WriteMessage(Producer& producer, std::size_t number) {
  const std::size_t slot = number % producer.sizes.slots;
  const BufferSlice source(producer.out, slot * producer.sizes.bytes, producer.sizes.bytes);
  fabric::RemoteBuffer target = producer.slots;
  target.address += slot * producer.sizes.bytes;
  fabric::async::OperationOptions options;
  options.immediate = ImmediateOf(slot);
  options.deadline = GiveUpTime();
  const fabric::Completion written =
      co_await producer.machine.endpoint().Write(source, target, producer.consumer, options);
  const absl::Status status =
      producer.machine.endpoint().ToStatus(written, absl::StrCat("write message ", number));
  producer.in_flight[slot] = false;
  if (producer.failure.ok()) producer.failure = status;
  producer.changed.NotifyAll();
  co_return status;
}

// Until the slot may be filled again: the consumer has taken its contents, and the NIC does not
// read the source any more. A credit does not say the second.
coro::Task<absl::Status> AwaitSlot(Producer& producer, std::size_t number) {
  const std::uint64_t credits = producer.credits.count();
  fabric::coverage::Always("credit-flow: no more credits than messages", credits <= number);
  if (number >= producer.sizes.slots) {
    fabric::coverage::Sometimes("credit-flow: the producer waits for a credit",
                                credits < number - producer.sizes.slots + 1);
    const bool credit =
        co_await producer.credits.Reached(number - producer.sizes.slots + 1, GiveUpTime());
    if (!producer.failure.ok()) co_return producer.failure;
    if (!credit) {
      co_return absl::DeadlineExceededError(absl::StrCat("no credit came for message ", number));
    }
  }
  fabric::coverage::Sometimes("credit-flow: a credit comes before the write has completed",
                              producer.in_flight[number % producer.sizes.slots]);
  while (producer.in_flight[number % producer.sizes.slots]) co_await producer.changed.Wait();
  co_return producer.failure;
}

coro::Task<absl::Status> Produce(Producer& producer) {
  coro::Scope writes;
  for (std::size_t number = 0; number < producer.sizes.messages; ++number) {
    const absl::Status ready = co_await AwaitSlot(producer, number);
    if (!ready.ok()) co_return ready;
    const std::size_t slot = number % producer.sizes.slots;
    FillKeyed(producer.out->bytes().subspan(slot * producer.sizes.bytes, producer.sizes.bytes),
              number);
    producer.in_flight[slot] = true;
    writes.Spawn(WriteMessage(producer, number));
  }
  co_return co_await writes.Join();
}

coro::Task<absl::Status> Consume(Consumer& consumer, Truth& truth) {
  for (std::size_t number = 0; number < consumer.sizes.messages; ++number) {
    const std::size_t slot = number % consumer.sizes.slots;
    const bool arrived =
        co_await consumer.arrived[slot]->Reached(number / consumer.sizes.slots + 1, GiveUpTime());
    if (!arrived) {
      co_return absl::DeadlineExceededError(absl::StrCat("message ", number, " did not come"));
    }
    if (!HoldsKeyed(
            consumer.slots->bytes().subspan(slot * consumer.sizes.bytes, consumer.sizes.bytes),
            number)) {
      truth.Wrong(absl::StrCat("slot ", slot, " does not hold message ", number));
    }
    fabric::async::OperationOptions options;
    options.immediate = kCredit;
    options.deadline = GiveUpTime();
    const fabric::Completion given = co_await consumer.machine.endpoint().Write(
        consumer.out, consumer.credit, consumer.producer, options);
    CO_RETURN_IF_ERROR(consumer.machine.endpoint().ToStatus(
        given, absl::StrCat("give the credit of message ", number)));
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Flow(Trial& trial, Nodes& machines, Truth& truth) {
  Sizes sizes;
  sizes.messages = trial.parameter("messages");
  sizes.slots = trial.parameter("slots");
  sizes.bytes = trial.parameter("message_bytes");
  fabric::async::Node& a = *machines[0];
  fabric::async::Node& b = *machines[1];
  CO_ASSIGN_OR_RETURN(const BufferRef a_out, a.Allocate(sizes.slots * sizes.bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef a_in, a.Allocate(kCreditBytes));
  CO_ASSIGN_OR_RETURN(const BufferRef b_in, b.Allocate(sizes.slots * sizes.bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef b_out, b.Allocate(kCreditBytes));
  Producer producer{sizes, a, a.peer(1), a_out, b_in->region().remote(), {a.dispatcher(), kCredit}};
  Consumer consumer{sizes, b, b.peer(0), b_in, b_out, a_in->region().remote(), {}};
  for (std::size_t slot = 0; slot < sizes.slots; ++slot) {
    consumer.arrived.push_back(
        std::make_unique<ImmediateCounter>(b.dispatcher(), ImmediateOf(slot)));
  }
  std::vector<coro::Task<absl::Status>> tasks;
  tasks.push_back(Consume(consumer, truth));
  tasks.push_back(Produce(producer));
  const std::vector<absl::Status> ends = co_await coro::WhenAll(std::move(tasks));
  co_return FirstError(ends);
}

class CreditFlowScenario final : public Scenario {
 public:
  std::string_view name() const override { return "credit-flow"; }
  std::string_view description() const override {
    return "a producer reuses a consumer's four slots, as credits allow";
  }
  std::span<const Parameter> parameters() const override { return kParameters; }
  // A slot is a write and its credit.
  std::optional<Needs> needs(const Parameters& parameters) const override {
    return Needs{
        .registrations = 2, .address_handles = 1, .completions = 2 * parameters.at("slots")};
  }
  Outcome Run(Trial& trial) const override { return RunProgram(trial, 2, &Flow); }
};

}  // namespace

const Scenario& CreditFlow() {
  static const CreditFlowScenario scenario;
  return scenario;
}

}  // namespace drydock::sim::explore
