#include "testing/benchmarks/contract_end.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"

namespace bench {

absl::StatusOr<std::unique_ptr<ContractEnd>> ContractEnd::Open(fabric::Fabric& fabric,
                                                               std::byte* memory,
                                                               std::size_t length_bytes) {
  std::unique_ptr<ContractEnd> end(new ContractEnd);
  ASSIGN_OR_RETURN(end->domain_, fabric.OpenDomain(0));
  ASSIGN_OR_RETURN(end->queue_, end->domain_->OpenCompletionQueue({}));
  ASSIGN_OR_RETURN(end->peers_, end->domain_->OpenAddressVector());
  ASSIGN_OR_RETURN(end->region_,
                   end->domain_->RegisterMemory({.data = memory, .length_bytes = length_bytes}));
  ASSIGN_OR_RETURN(end->endpoint_,
                   end->domain_->OpenEndpoint({.send_queue = end->queue_.get(),
                                               .receive_queue = end->queue_.get(),
                                               .address_vector = end->peers_.get()}));
  end->source_ = end->region_->Local();
  return absl::StatusOr<std::unique_ptr<ContractEnd>>(std::move(end));
}

absl::Status ContractEnd::WriteTo(const ContractEnd& peer) {
  ASSIGN_OR_RETURN(peer_, peers_->Insert(peer.endpoint_->address()));
  target_ = peer.region_->remote();
  return absl::OkStatus();
}

BurstOutcome ContractEnd::Refused(fabric::PostResult result) {
  if (result.error == fabric::ErrorCode::kAgain) return {result.accepted};
  error_ = fabric::ToStatus(result.error, "post write");
  return {result.accepted, true};
}

bool ContractEnd::FailRead(fabric::ErrorCode error) {
  error_ = fabric::ToStatus(error, "read completion queue");
  return false;
}

bool ContractEnd::Fail(const fabric::Completion& completion) {
  error_ = completion.ok() ? absl::InternalError(absl::StrCat("a completion of ",
                                                              std::string(Name(completion.kind))))
                           : fabric::ToStatus(completion.error, queue_->ErrorText(completion));
  return false;
}

}  // namespace bench
