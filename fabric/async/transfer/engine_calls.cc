// The engine's calls: their checks, and how they wait.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/barrier_group.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/async/transfer/engine_state.h"
#include "drydock/fabric/async/transfer/immediate.h"

namespace drydock::fabric::async::transfer {
namespace {

absl::Status Refuse(const TransferOptions& options, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("transfer ", options.transfer, ": ", why));
}

bool Within(std::uint64_t offset, std::uint64_t bytes, std::uint64_t length) {
  return offset <= length && bytes <= length - offset;
}

absl::Status CheckNumbers(const TransferOptions& options, std::uint64_t pages) {
  if (options.transfer >= kMostTransfers) {
    return Refuse(options, absl::StrCat("transfers are numbered below ", kMostTransfers));
  }
  if (pages == 0 || !Within(options.first_page, pages, kMostPages)) {
    return Refuse(options, absl::StrCat("pages from ", options.first_page, " on, ", pages,
                                        " of them: a transfer has 1 to ", kMostPages));
  }
  return absl::OkStatus();
}

// The pages of one end, as the plan has them; takes the room of `offsets`.
absl::Status ReadPages(const PagesShape& shape, const PageList& list, std::uint64_t length,
                       absl::string_view end, const TransferOptions& options,
                       PageOffsets& offsets) {
  if (!list.indices.empty() && list.indices.size() != shape.pages) {
    return Refuse(options, absl::StrCat(list.indices.size(), " page numbers at the ", end, " for ",
                                        shape.pages, " pages"));
  }
  offsets.indices.assign(list.indices.begin(), list.indices.end());
  offsets.offset_bytes = list.offset_bytes;
  offsets.stride_bytes = list.stride_bytes == 0 ? shape.page_bytes : list.stride_bytes;
  const std::uint32_t last = list.indices.empty()
                                 ? shape.pages - 1
                                 : *std::max_element(list.indices.begin(), list.indices.end());
  if (!Within(list.offset_bytes, shape.page_bytes, length) ||
      last > (length - list.offset_bytes - shape.page_bytes) / offsets.stride_bytes) {
    return Refuse(options, absl::StrCat("page ", last, " of ", shape.page_bytes, " bytes at the ",
                                        end, " is past the end of ", length, " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

std::uint32_t PiecesOf(const WriteShape& shape, Policy policy, std::size_t nics) {
  std::uint64_t piece = shape.piece_bytes;
  if (piece == 0) piece = policy == Policy::kSplit ? (shape.bytes + nics - 1) / nics : shape.bytes;
  if (piece == 0) return 0;
  const std::uint64_t pieces = (shape.bytes + piece - 1) / piece;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces, UINT32_MAX));
}

// ---- Waiting ----

// The caller's hold on its transfer. It ends with the caller; operations under way go on.
class Engine::Lease {
 public:
  Lease(Engine& engine, Transfer& transfer) : engine_(engine), transfer_(transfer) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (transfer_.finished) {
      engine_.Recycle(transfer_);
    } else {
      engine_.Abandon(transfer_);
    }
  }

 private:
  Engine& engine_;
  Transfer& transfer_;
};

Engine::Transfer& Engine::NewTransfer(MemoryRef source, const TransferOptions& options) {
  if (idle_.empty()) {
    transfers_.push_back(std::make_unique<Transfer>());
    idle_.push_back(transfers_.back().get());
  }
  Transfer& transfer = *idle_.back();
  idle_.pop_back();
  transfer.plan.source = std::move(source);
  transfer.plan.transfer = options.transfer;
  transfer.plan.first_sequence = options.first_page;
  transfer.policy = options.policy == nullptr ? options_.policy : *options.policy;
  transfer.nic = options.nic % rails_.size();
  return transfer;
}

void Engine::Recycle(Transfer& transfer) {
  transfer.plan.Clear();
  transfer.next = transfer.completed = 0;
  transfer.over = transfer.finished = transfer.abandoned = false;
  transfer.failure = absl::OkStatus();
  idle_.push_back(&transfer);
}

void Engine::Abandon(Transfer& transfer) {
  transfer.abandoned = true;
  Fail(transfer, absl::CancelledError("nobody waits for it"));
  Settle(transfer);
}

coro::NowTask<absl::Status> Engine::Run(Transfer& transfer, coro::Time deadline) {
  const Lease lease(*this, transfer);
  backlog_bytes_ += transfer.plan.total_bytes;
  Activate(transfer);
  while (!transfer.finished) {
    const bool in_time = co_await transfer.done.Wait(deadline);
    if (in_time || transfer.finished) continue;
    co_return absl::DeadlineExceededError(
        absl::StrCat("transfer ", transfer.plan.transfer, ": ", transfer.completed, " of ",
                     transfer.plan.pages, " pages have been written"));
  }
  co_return transfer.failure;
}

// ---- The calls ----

coro::Task<absl::Status> Engine::Write(MemoryRef source, RemoteRef target, WriteShape shape,
                                       TransferOptions options) {
  const Policy policy = options.policy == nullptr ? options_.policy : *options.policy;
  const std::uint32_t pieces = PiecesOf(shape, policy, rails_.size());
  CO_RETURN_IF_ERROR(CheckNumbers(options, pieces));
  if (!Within(shape.source_offset, shape.bytes, source->bytes().size()) ||
      !Within(shape.target_offset, shape.bytes, target->length_bytes())) {
    co_return Refuse(
        options, absl::StrCat("write of ", shape.bytes, " bytes from ", shape.source_offset, " to ",
                              shape.target_offset, " leaves its memory"));
  }
  Transfer& transfer = NewTransfer(std::move(source), options);
  Plan& plan = transfer.plan;
  plan.targets.push_back(std::move(target));
  plan.pages = pieces;
  plan.page_bytes =
      shape.piece_bytes == 0 ? (shape.bytes + pieces - 1) / pieces : shape.piece_bytes;
  plan.total_bytes = shape.bytes;
  plan.from.offset_bytes = shape.source_offset;
  plan.to.offset_bytes = shape.target_offset;
  plan.from.stride_bytes = plan.to.stride_bytes = plan.page_bytes;
  const absl::Status status = co_await Run(transfer, options.deadline);
  co_return status;
}

coro::Task<absl::Status> Engine::WritePages(MemoryRef source, RemoteRef target, PagesShape shape,
                                            TransferOptions options) {
  CO_RETURN_IF_ERROR(CheckNumbers(options, shape.pages));
  if (shape.page_bytes == 0) co_return Refuse(options, "pages of no bytes");
  const std::uint64_t source_bytes = source->bytes().size();
  const std::uint64_t target_bytes = target->length_bytes();
  Transfer& transfer = NewTransfer(std::move(source), options);
  Plan& plan = transfer.plan;
  plan.targets.push_back(std::move(target));
  plan.pages = shape.pages;
  plan.page_bytes = shape.page_bytes;
  plan.total_bytes = shape.pages * shape.page_bytes;
  absl::Status fits = ReadPages(shape, shape.from, source_bytes, "source", options, plan.from);
  if (fits.ok()) fits = ReadPages(shape, shape.to, target_bytes, "target", options, plan.to);
  if (!fits.ok()) {
    Recycle(transfer);
    co_return fits;
  }
  const absl::Status status = co_await Run(transfer, options.deadline);
  co_return status;
}

absl::Status Engine::ReadScatter(std::span<const ScatterWrite> writes,
                                 const TransferOptions& options, Plan& plan) const {
  std::vector<std::uint32_t> next(peer_nics_.size(), options.first_page);
  for (const ScatterWrite& write : writes) {
    const bool fits = write.bytes > 0 &&
                      Within(write.source_offset, write.bytes, plan.source->bytes().size()) &&
                      Within(write.target_offset, write.bytes, write.target->length_bytes());
    if (!fits) {
      return Refuse(options, absl::StrCat("write ", plan.scatter.size(), " of ", write.bytes,
                                          " bytes from ", write.source_offset, " to ",
                                          write.target_offset, " is empty or leaves its memory"));
    }
    if (plan.targets.empty() || plan.targets.back() != write.target) {
      plan.targets.push_back(write.target);
    }
    plan.total_bytes += write.bytes;
    plan.scatter.push_back({.source_offset = write.source_offset,
                            .target_offset = write.target_offset,
                            .bytes = write.bytes,
                            .sequence = next[write.target->peer()]++,
                            .destination = static_cast<std::uint16_t>(plan.targets.size() - 1)});
  }
  if (plan.targets.size() > UINT16_MAX) {
    return Refuse(options, absl::StrCat("writes to ", plan.targets.size(), " memories at once"));
  }
  return absl::OkStatus();
}

coro::Task<absl::Status> Engine::Scatter(MemoryRef source, std::span<const ScatterWrite> writes,
                                         TransferOptions options) {
  CO_RETURN_IF_ERROR(CheckNumbers(options, writes.size()));
  Transfer& transfer = NewTransfer(std::move(source), options);
  transfer.plan.pages = static_cast<std::uint32_t>(writes.size());
  absl::Status fits = ReadScatter(writes, options, transfer.plan);
  if (!fits.ok()) {
    Recycle(transfer);
    co_return fits;
  }
  const absl::Status status = co_await Run(transfer, options.deadline);
  co_return status;
}

coro::Task<absl::Status> Engine::Barrier(BarrierGroup& group, coro::Time deadline) {
  const absl::Status status = co_await group.Arrive(deadline);
  co_return status;
}

}  // namespace drydock::fabric::async::transfer
