// Any backend of the contract as a row: two open NICs of it, written to by the common loop.

#ifndef TESTING_BENCHMARKS_CONTRACT_PATH_H_
#define TESTING_BENCHMARKS_CONTRACT_PATH_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coro/clock.h"
#include "fabric/error.h"
#include "fabric/fabric.h"
#include "fabric/operation.h"
#include "testing/benchmarks/write_loop.h"
#include "testing/benchmarks/write_path.h"

namespace bench {

// One side. Members die in reverse order, the endpoint first.
struct ContractEnd {
  std::unique_ptr<fabric::Domain> domain;
  std::unique_ptr<fabric::CompletionQueue> queue;
  std::unique_ptr<fabric::AddressVector> peers;
  std::unique_ptr<fabric::MemoryRegion> region;
  std::unique_ptr<fabric::Endpoint> endpoint;
};

// The backend under a path. The fabrics may be one. Members die in reverse order.
struct ContractBackend {
  std::string name;                   // of the row
  std::shared_ptr<void> keeps_alive;  // what the fabrics live in, or null
  std::shared_ptr<fabric::Fabric> initiator;
  std::shared_ptr<fabric::Fabric> target;
  // Where polling alone makes no time pass: what does, when nothing is there. Null: nothing needed.
  coro::Clock* idle = nullptr;
};

class ContractPath final : public WritePath {
 public:
  // Opens the first NIC of both fabrics. `buffers` outlives the path. Errors: those of the backend.
  static absl::StatusOr<std::unique_ptr<WritePath>> Open(ContractBackend backend,
                                                         const Buffers& buffers);

  std::string name() const override { return backend_.name; }
  absl::Status Write(const Shape& shape, std::uint64_t count) override;

  // --- What WriteInWindows calls ---
  PostOutcome Post(std::size_t slot, std::size_t bytes) {
    const std::size_t offset = slot * bytes;
    const fabric::WriteRequest request{
        .source = {common_.source.data + offset, bytes, common_.source.local_key},
        .target = {common_.target.address + offset, common_.target.key},
        .peer = common_.peer,
        .immediate = static_cast<std::uint32_t>(slot),
        .context = fabric::Context{slot}};
    const fabric::ErrorCode code = initiator_.endpoint->Write(request);
    if (code == fabric::ErrorCode::kOk) [[likely]]
      return PostOutcome::kPosted;
    return code == fabric::ErrorCode::kAgain ? PostOutcome::kAgain : Refused(code);
  }
  PollOutcome PollInitiator() {
    return Poll(*initiator_.queue, [](const fabric::Completion& sent, PollOutcome& outcome) {
      if (sent.kind != fabric::OperationKind::kWrite || !sent.context.has_value()) return false;
      outcome.names += static_cast<std::uint64_t>(*sent.context);
      return true;
    });
  }
  PollOutcome PollTarget() {
    return Poll(*target_.queue, [](const fabric::Completion& arrived, PollOutcome& outcome) {
      if (arrived.kind != fabric::OperationKind::kRemoteWrite || !arrived.immediate.has_value()) {
        return false;
      }
      outcome.names += *arrived.immediate;
      outcome.bytes += arrived.length_bytes;
      return true;
    });
  }
  void Idle() {
    if (backend_.idle != nullptr) backend_.idle->WaitUntil(coro::kNever);
  }
  absl::Status error() const { return error_; }

 private:
  explicit ContractPath(ContractBackend backend) : backend_(std::move(backend)) {}

  // `count(completion, outcome)` adds a success to the outcome; false: it is of another kind.
  template <typename Count>
  PollOutcome Poll(fabric::CompletionQueue& queue, Count count) {
    const fabric::ReadResult read = queue.Read(completions_);
    PollOutcome outcome{.completions = read.count};
    if (read.error != fabric::ErrorCode::kOk) [[unlikely]] {
      Fail(queue, nullptr, read.error);
      outcome.failed = true;
    }
    for (std::size_t i = 0; i < read.count; ++i) {
      const fabric::Completion& completion = completions_[i];
      if (!completion.ok() || !count(completion, outcome)) [[unlikely]] {
        Fail(queue, &completion, completion.error);
        outcome.failed = true;
      }
    }
    return outcome;
  }
  PostOutcome Refused(fabric::ErrorCode error);
  // Notes why. `completion`: null when the queue itself failed.
  void Fail(fabric::CompletionQueue& queue, const fabric::Completion* completion,
            fabric::ErrorCode error);

  ContractBackend backend_;
  ContractEnd initiator_;
  ContractEnd target_;
  fabric::WriteRequest common_;  // the parts that all writes have in common
  std::array<fabric::Completion, 16> completions_;
  absl::Status error_;
};

}  // namespace bench

#endif  // TESTING_BENCHMARKS_CONTRACT_PATH_H_
