#include "drydock/testing/benchmarks/message_end.h"

#include <utility>

#include "drydock/coro/status_macros.h"

namespace drydock::bench {

absl::StatusOr<std::unique_ptr<MessageEnd>> MessageEnd::Open(fabric::Fabric& fabric,
                                                             std::size_t bytes) {
  std::unique_ptr<MessageEnd> end(new MessageEnd(bytes));
  ASSIGN_OR_RETURN(end->nic_, fabric::OpenNic(fabric));
  ASSIGN_OR_RETURN(end->region_,
                   end->nic_.domain->RegisterMemory(
                       {.data = end->memory_.data(), .length_bytes = end->memory_.size()}));
  for (std::size_t i = 0; i < kReceives; ++i) {
    RETURN_IF_ERROR(fabric::ToStatus(end->PostReceive(i), "post receive"));
  }
  return absl::StatusOr<std::unique_ptr<MessageEnd>>(std::move(end));
}

absl::Status MessageEnd::SendTo(const fabric::Address& peer) {
  ASSIGN_OR_RETURN(peer_, nic_.peers->Insert(peer));
  return absl::OkStatus();
}

BurstOutcome MessageEnd::Refused(fabric::ErrorCode error) {
  if (error == fabric::ErrorCode::kAgain) return {0};
  Fail(fabric::ToStatus(error, "post send"));
  return {0, true};
}

bool MessageEnd::Fail(absl::Status why) {
  error_ = std::move(why);
  return false;
}

}  // namespace drydock::bench
