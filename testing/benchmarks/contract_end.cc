#include "drydock/testing/benchmarks/contract_end.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::bench {

absl::StatusOr<std::unique_ptr<ContractEnd>> ContractEnd::Open(fabric::Fabric& fabric,
                                                               std::byte* memory,
                                                               std::size_t length_bytes) {
  std::unique_ptr<ContractEnd> end(new ContractEnd);
  ASSIGN_OR_RETURN(end->nic_, fabric::OpenNic(fabric));
  end->queue_ = end->nic_.queue.get();
  end->endpoint_ = end->nic_.endpoint.get();
  ASSIGN_OR_RETURN(end->region_, end->nic_.domain->RegisterMemory(
                                     {.data = memory, .length_bytes = length_bytes}));
  end->source_ = end->region_->Local();
  return absl::StatusOr<std::unique_ptr<ContractEnd>>(std::move(end));
}

absl::Status ContractEnd::WriteTo(const fabric::Address& peer, fabric::RemoteBuffer memory) {
  ASSIGN_OR_RETURN(peer_, nic_.peers->Insert(peer));
  target_ = memory;
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

}  // namespace drydock::bench
