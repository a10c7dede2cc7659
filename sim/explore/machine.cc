#include "sim/explore/machine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"

namespace sim::explore {

absl::StatusOr<std::unique_ptr<Machine>> Machine::Open(Trial& trial, coro::EventLoop& loop,
                                                       std::string name) {
  std::unique_ptr<Machine> machine(new Machine);
  ASSIGN_OR_RETURN(machine->fabric_, trial.OpenMachine(std::move(name)));
  ASSIGN_OR_RETURN(machine->domain_, machine->fabric_->OpenDomain(0));
  ASSIGN_OR_RETURN(machine->addresses_, machine->domain_->OpenAddressVector());
  ASSIGN_OR_RETURN(auto queue, machine->domain_->OpenCompletionQueue({}));
  machine->dispatcher_ =
      std::make_unique<fabric::async::CompletionDispatcher>(loop, std::move(queue));
  fabric::EndpointOptions options;
  options.send_queue = &machine->dispatcher_->queue();
  options.receive_queue = &machine->dispatcher_->queue();
  options.address_vector = machine->addresses_.get();
  ASSIGN_OR_RETURN(auto endpoint, machine->domain_->OpenEndpoint(options));
  machine->endpoint_ =
      std::make_unique<fabric::async::AsyncEndpoint>(*machine->dispatcher_, std::move(endpoint));
  return machine;
}

absl::StatusOr<std::vector<std::unique_ptr<Machine>>> Machine::OpenAll(Trial& trial,
                                                                       coro::EventLoop& loop,
                                                                       std::size_t count) {
  std::vector<std::unique_ptr<Machine>> machines;
  for (std::size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto machine, Open(trial, loop, absl::StrCat("machine", i)));
    machines.push_back(std::move(machine));
  }
  for (std::size_t i = 0; i < count; ++i) {
    machines[i]->peers_.assign(count, fabric::kNoPeer);
    for (std::size_t j = 0; j < count; ++j) {
      if (j == i) continue;
      const fabric::Address address = machines[j]->endpoint().address();
      ASSIGN_OR_RETURN(machines[i]->peers_[j], machines[i]->addresses_->Insert(address));
    }
  }
  return machines;
}

}  // namespace sim::explore
