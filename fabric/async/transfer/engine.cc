#include "drydock/fabric/async/transfer/engine.h"

#include <atomic>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/barrier_group.h"
#include "drydock/fabric/async/transfer/immediate.h"
#include "drydock/fabric/async/transfer/messages.h"
#include "drydock/fabric/async/transfer/rail_threads.h"

namespace drydock::fabric::async::transfer {
namespace {

BalanceOptions BalanceFor(const EngineOptions& options,
                          const std::vector<std::unique_ptr<Rail>>& rails) {
  BalanceOptions balance;
  balance.near_first = options.near_first;
  // Beyond the window, so that the next bursts are there when it opens.
  for (const auto& rail : rails) {
    balance.windows.push_back(static_cast<std::uint32_t>(rail->window() + 2 * rail->burst()));
  }
  return balance;
}

// The caller's hold on its transfer. It ends with the caller; operations under way go on.
class Lease {
 public:
  Lease(TransferTable& table, Transfer& transfer) : table_(table), transfer_(transfer) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { table_.Release(transfer_); }

 private:
  TransferTable& table_;
  Transfer& transfer_;
};

}  // namespace

// ---- Opening and closing ----

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(coro::EventLoop& loop,
                                                     std::span<Domain* const> nics,
                                                     const EngineOptions& options) {
  if (nics.empty() || nics.size() > kMostNics || options.attempts == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("open transfer engine: ", nics.size(), " NICs and ", options.attempts,
                     " attempts; it takes 1 to ", kMostNics, ", and 1 or more"));
  }
  const std::size_t shared = options.shared_nics == 0 ? nics.size() : options.shared_nics;
  if (options.first_shared_nic > shared || nics.size() > shared - options.first_shared_nic) {
    return absl::InvalidArgumentError(absl::StrCat("open transfer engine: ", nics.size(),
                                                   " NICs from number ", options.first_shared_nic,
                                                   " on, of ", shared, " that share threads"));
  }
  for (const std::uint32_t nic : options.near_first) {
    if (nic < nics.size()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("open transfer engine: near-first names NIC ", nic, " of ", nics.size()));
  }
  std::vector<std::unique_ptr<Rail>> rails;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    ASSIGN_OR_RETURN(auto rail, Rail::Open(*nics[i], i, options.nic));
    rails.push_back(std::move(rail));
  }
  return std::unique_ptr<Engine>(new Engine(loop, nics, options, std::move(rails)));
}

Engine::Engine(coro::EventLoop& loop, std::span<Domain* const> nics, const EngineOptions& options,
               std::vector<std::unique_ptr<Rail>> rails)
    : loop_(loop),
      options_(options),
      domains_(nics.begin(), nics.end()),
      rails_(std::move(rails)),
      balance_(BalanceFor(options, rails_)),
      introductions_(rails_, balance_, options.same_nic_only),
      dispatcher_(rails_, balance_, transfers_, loop.clock(), options.attempts),
      arrived_(rails_.size()) {
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    if (options_.threads == nullptr) {
      rails_[i]->Attach(loop);
    } else {
      const std::size_t shared = options_.shared_nics;
      options_.threads->Add(*rails_[i], options_.first_shared_nic + i,
                            shared == 0 ? rails_.size() : shared);
    }
  }
  loop_.AddSelector(*this);
}

Engine::~Engine() {
  loop_.RemoveSelector(*this);
  if (options_.threads == nullptr) {
    for (const auto& rail : rails_) rail->Detach();
  }
  // Nothing is under way then: plans, their memory and introductions may go.
  rails_.clear();
}

PeerDescriptor Engine::descriptor() const {
  PeerDescriptor descriptor;
  for (const auto& rail : rails_) descriptor.nics.push_back(rail->address());
  return descriptor;
}

absl::StatusOr<MemoryRef> Engine::Register(const MemoryRequest& request,
                                           std::shared_ptr<void> keep) {
  std::vector<std::unique_ptr<MemoryRegion>> regions;
  for (Domain* const domain : domains_) {
    ASSIGN_OR_RETURN(auto region, domain->RegisterMemory(request));
    regions.push_back(std::move(region));
  }
  return MemoryRef(std::make_shared<const Memory>(std::move(keep), std::move(regions)));
}

absl::StatusOr<MemoryRef> Engine::Allocate(std::size_t length_bytes, Access access) {
  // Not make_shared: it puts the owners' count behind the bytes, where no sanitizer sees an
  // overrun.
  const std::shared_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[length_bytes]());
  if (bytes == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("allocate ", length_bytes, " B: there is not so much memory"));
  }
  return Register({.data = bytes.get(), .length_bytes = length_bytes, .access = access}, bytes);
}

coro::Task<absl::StatusOr<std::uint32_t>> Engine::Connect(PeerDescriptor peer) {
  return introductions_.Connect(std::move(peer));
}

absl::StatusOr<RemoteRef> Engine::Import(std::uint32_t peer, MemoryDescriptor descriptor) const {
  return introductions_.Import(peer, std::move(descriptor));
}

absl::StatusOr<std::unique_ptr<Expectation>> Engine::Expect(std::uint32_t transfer,
                                                            std::uint32_t pages) {
  if (transfer >= kMostTransfers || pages == 0 || pages > kMostPages) {
    return absl::InvalidArgumentError(absl::StrCat("expect ", pages, " pages of transfer ",
                                                   transfer, ": 1 to ", kMostPages,
                                                   " pages, transfers below ", kMostTransfers));
  }
  if (arrivals_.Has(transfer)) {
    return absl::AlreadyExistsError(absl::StrCat("expect transfer ", transfer, ": it is expected"));
  }
  return std::make_unique<Expectation>(arrivals_, transfer, pages);
}

NicStats Engine::nic_stats(std::size_t nic) const {
  const Rail& rail = *rails_[nic];
  const Share& share = balance_.share(nic);
  const RailCounters& counters = rail.counters();
  return {.name = rail.nic().name,
          .alive = balance_.alive(nic),
          .bytes = share.total(),
          .bytes_under_way = share.under_way(),
          .bytes_per_ns = share.rate(),
          .arrived_pages = arrived_[nic],
          .posted_pages = counters.pages.load(std::memory_order_relaxed),
          .doorbells = counters.bursts.load(std::memory_order_relaxed),
          .refused_posts = counters.again.load(std::memory_order_relaxed)};
}

// ---- The calls ----

Transfer& Engine::NewTransfer(MemoryRef source, const TransferOptions& options) {
  Transfer& transfer = transfers_.New();
  transfer.plan.source = std::move(source);
  transfer.policy = options.policy == nullptr ? options_.policy : *options.policy;
  transfer.nic = options.nic % rails_.size();
  return transfer;
}

coro::NowTask<absl::Status> Engine::Run(Transfer& transfer, coro::Time deadline) {
  const Lease lease(transfers_, transfer);
  transfers_.Submit(transfer);
  dirty_ = true;
  while (!transfer.finished) {
    const bool in_time = co_await transfer.done.Wait(deadline);
    if (in_time || transfer.finished) continue;
    co_return absl::DeadlineExceededError(
        absl::StrCat("transfer ", transfer.plan.transfer, ": ", transfer.completed, " of ",
                     transfer.plan.pages, " pages have been written"));
  }
  co_return transfer.failure;
}

coro::Task<absl::Status> Engine::Write(MemoryRef source, RemoteRef target, WriteShape shape,
                                       TransferOptions options) {
  Transfer& transfer = NewTransfer(std::move(source), options);
  transfer.plan.targets.push_back(std::move(target));
  const std::uint32_t pieces = PiecesOf(shape, transfer.policy, rails_.size());
  const absl::Status planned = PlanWrite(shape, pieces, options, transfer.plan);
  if (!planned.ok()) transfers_.Recycle(transfer);
  CO_RETURN_IF_ERROR(planned);
  const absl::Status status = co_await Run(transfer, options.deadline);
  co_return status;
}

coro::Task<absl::Status> Engine::WritePages(MemoryRef source, RemoteRef target, PagesShape shape,
                                            TransferOptions options) {
  Transfer& transfer = NewTransfer(std::move(source), options);
  transfer.plan.targets.push_back(std::move(target));
  const absl::Status planned = PlanPages(shape, options, transfer.plan);
  if (!planned.ok()) transfers_.Recycle(transfer);
  CO_RETURN_IF_ERROR(planned);
  const absl::Status status = co_await Run(transfer, options.deadline);
  co_return status;
}

coro::Task<absl::Status> Engine::Scatter(MemoryRef source, std::span<const ScatterWrite> writes,
                                         TransferOptions options) {
  Transfer& transfer = NewTransfer(std::move(source), options);
  const absl::Status planned = PlanScatter(writes, balance_.peer_count(), options, transfer.plan);
  if (!planned.ok()) transfers_.Recycle(transfer);
  CO_RETURN_IF_ERROR(planned);
  const absl::Status status = co_await Run(transfer, options.deadline);
  co_return status;
}

coro::Task<absl::Status> Engine::Barrier(BarrierGroup& group, coro::Time deadline) {
  const absl::Status status = co_await group.Arrive(deadline);
  co_return status;
}

// ---- A turn ----

std::size_t Engine::Poll(std::size_t) {
  dispatcher_.BeginTurn();
  std::size_t events = 0;
  for (std::size_t i = 0; i < rails_.size(); ++i) events += TakeArrivals(i) + TakeReports(i);
  if (!dirty_) return events;
  dirty_ = false;
  return events + dispatcher_.Dispatch();
}

std::size_t Engine::TakeArrivals(std::size_t nic) {
  std::size_t taken = 0;
  for (std::uint32_t immediate; rails_[nic]->TakeArrival(immediate); ++taken) {
    arrivals_.Arrived(immediate);
  }
  arrived_[nic] += taken;
  return taken;
}

std::size_t Engine::TakeReports(std::size_t nic) {
  std::size_t taken = 0;
  for (Report report; rails_[nic]->TakeReport(report); ++taken) {
    switch (report.kind) {
      case Report::Kind::kEnded:
        dispatcher_.ChunkEnded(nic, report.chunk);
        break;
      case Report::Kind::kPageFailed:
        dispatcher_.PageFailed(nic, report);
        break;
      case Report::Kind::kIntroduced:
        introductions_.Answered();
        break;
      case Report::Kind::kDied:
        balance_.Died(nic);
        break;
    }
    dirty_ = true;
  }
  return taken;
}

}  // namespace drydock::fabric::async::transfer
