#include "testing/benchmarks/contract_path.h"

#include <utility>

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
  ASSIGN_OR_RETURN(path->request_.peer, initiator.peers->Insert(target.endpoint->address()));
  RETURN_IF_ERROR(target.peers->Insert(initiator.endpoint->address()).status());
  path->request_.source = initiator.region->Local();
  path->request_.target = target.region->remote();
  return absl::StatusOr<std::unique_ptr<WritePath>>(std::move(path));
}

absl::Status ContractPath::Write(const Shape& shape, std::uint64_t count) {
  return WriteInWindows(*this, shape, count);
}

PostOutcome ContractPath::Post(std::size_t slot, std::size_t bytes) {
  const std::size_t offset = slot * bytes;
  fabric::WriteRequest request = request_;
  request.source.data += offset;
  request.source.length_bytes = bytes;
  request.target.address += offset;
  request.immediate = static_cast<std::uint32_t>(slot);
  request.context = fabric::Context{slot};
  const fabric::ErrorCode code = initiator_.endpoint->Write(request);
  if (code == fabric::ErrorCode::kOk) return PostOutcome::kPosted;
  if (code == fabric::ErrorCode::kAgain) return PostOutcome::kAgain;
  error_ = fabric::ToStatus(code, "post write");
  return PostOutcome::kFailed;
}

PollOutcome ContractPath::Poll(fabric::CompletionQueue& queue) {
  const fabric::ReadResult read = queue.Read(completions_);
  PollOutcome outcome;
  if (read.error != fabric::ErrorCode::kOk) {
    error_ = fabric::ToStatus(read.error, "read completion queue");
    outcome.failed = true;
  }
  for (std::size_t i = 0; i < read.count; ++i) {
    const fabric::Completion& completion = completions_[i];
    if (!completion.ok()) {
      error_ = fabric::ToStatus(completion.error, queue.ErrorText(completion));
      outcome.failed = true;
    }
    outcome.immediates += completion.immediate.value_or(0);
  }
  outcome.completions = read.count;
  return outcome;
}

}  // namespace bench
