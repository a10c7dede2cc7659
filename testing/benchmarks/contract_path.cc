#include "testing/benchmarks/contract_path.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"
#include "fabric/error.h"

namespace bench {
namespace {

absl::StatusOr<ContractEnd> OpenEnd(fabric::Fabric& fabric, std::byte* memory,
                                    std::size_t length_bytes) {
  ContractEnd end;
  ASSIGN_OR_RETURN(end.domain, fabric.OpenDomain(0));
  ASSIGN_OR_RETURN(end.queue, end.domain->OpenCompletionQueue({}));
  ASSIGN_OR_RETURN(end.peers, end.domain->OpenAddressVector());
  ASSIGN_OR_RETURN(end.region,
                   end.domain->RegisterMemory({.data = memory, .length_bytes = length_bytes}));
  ASSIGN_OR_RETURN(end.endpoint, end.domain->OpenEndpoint({.send_queue = end.queue.get(),
                                                           .receive_queue = end.queue.get(),
                                                           .address_vector = end.peers.get()}));
  return end;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WritePath>> ContractPath::Open(ContractBackend backend,
                                                              const Buffers& buffers) {
  std::unique_ptr<ContractPath> path(new ContractPath(std::move(backend)));
  ASSIGN_OR_RETURN(path->initiator_,
                   OpenEnd(*path->backend_.initiator, buffers.source(), buffers.length_bytes()));
  ASSIGN_OR_RETURN(path->target_,
                   OpenEnd(*path->backend_.target, buffers.target(), buffers.length_bytes()));
  ContractEnd& initiator = path->initiator_;
  ContractEnd& target = path->target_;
  ASSIGN_OR_RETURN(path->common_.peer, initiator.peers->Insert(target.endpoint->address()));
  RETURN_IF_ERROR(target.peers->Insert(initiator.endpoint->address()).status());
  path->common_.source = initiator.region->Local();
  path->common_.target = target.region->remote();
  return absl::StatusOr<std::unique_ptr<WritePath>>(std::move(path));
}

absl::Status ContractPath::Write(const Shape& shape, std::uint64_t count) {
  return WriteInWindows(*this, shape, count);
}

PostOutcome ContractPath::Refused(fabric::ErrorCode error) {
  error_ = fabric::ToStatus(error, "post write");
  return PostOutcome::kFailed;
}

void ContractPath::Fail(fabric::CompletionQueue& queue, const fabric::Completion* completion,
                        fabric::ErrorCode error) {
  if (completion == nullptr) {
    error_ = fabric::ToStatus(error, "read completion queue");
  } else if (completion->ok()) {
    error_ =
        absl::InternalError(absl::StrCat("a completion of ", std::string(Name(completion->kind))));
  } else {
    error_ = fabric::ToStatus(error, queue.ErrorText(*completion));
  }
}

}  // namespace bench
