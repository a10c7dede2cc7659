#include "drydock/fabric/async/transfer/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/engine_state.h"
#include "drydock/fabric/async/transfer/immediate.h"
#include "drydock/fabric/async/transfer/rail_threads.h"

namespace drydock::fabric::async::transfer {
namespace {

// The rest of the work is cut into at least so many chunks for each NIC, so that the last are
// short.
constexpr std::uint32_t kChunksPerNic = 4;

// Errors of the request itself, which it would meet on any NIC.
bool IsHopeless(ErrorCode error) {
  return error == ErrorCode::kInvalidArgument || error == ErrorCode::kUnsupported ||
         error == ErrorCode::kMessageTooLong || error == ErrorCode::kFeatureMismatch;
}

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

// Senders that begin with different NICs of a receiver: anything that differs between them.
std::uint64_t SpreadOf(const Address& address) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint8_t byte : address.bytes()) hash = (hash ^ byte) * 0x100000001b3;
  return hash ^ hash >> 32;
}

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
  if (options.nics_of_all > 0 && options.first_of_all + nics.size() > options.nics_of_all) {
    return absl::InvalidArgumentError(absl::StrCat("open transfer engine: NICs ",
                                                   options.first_of_all, " and on of ",
                                                   options.nics_of_all, " are not ", nics.size()));
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
  std::unique_ptr<Engine> engine(new Engine(loop, options, std::move(rails)));
  engine->domains_.assign(nics.begin(), nics.end());
  return engine;
}

Engine::Engine(coro::EventLoop& loop, const EngineOptions& options,
               std::vector<std::unique_ptr<Rail>> rails)
    : loop_(loop),
      options_(options),
      balance_(BalanceFor(options, rails)),
      arrived_(rails.size()),
      rails_(std::move(rails)) {
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    const auto chunks = static_cast<std::uint32_t>(rails_[i]->most_chunks());
    chunks_.emplace_back(chunks);
    free_chunks_.emplace_back();
    for (std::uint32_t id = chunks; id > 0; --id) free_chunks_.back().push_back(id - 1);
    if (options_.threads == nullptr) {
      rails_[i]->Attach(loop);
    } else {
      const std::size_t all = options_.nics_of_all;
      options_.threads->Add(*rails_[i], options_.first_of_all + i, all == 0 ? rails_.size() : all);
    }
  }
  loop_.AddSelector(*this);
}

Engine::~Engine() {
  loop_.RemoveSelector(*this);
  if (options_.threads == nullptr) {
    for (const auto& rail : rails_) rail->Detach();
  }
  rails_.clear();
  while (active_.PopFront() != nullptr) {
  }
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
  const std::shared_ptr<std::byte[]> bytes(new std::byte[length_bytes]());
  return Register({.data = bytes.get(), .length_bytes = length_bytes, .access = access}, bytes);
}

// A call's turn to make a peer known; ends with it, or when its coroutine is destroyed.
class Engine::Turn {
 public:
  explicit Turn(Engine& engine) : engine_(engine) { engine_.connecting_ = true; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    engine_.connecting_ = false;
    engine_.introduced_.NotifyAll();
  }

 private:
  Engine& engine_;
};

coro::Task<absl::StatusOr<std::uint32_t>> Engine::Connect(PeerDescriptor peer) {
  if (peer.nics.empty() || peer.nics.size() > kMostNics) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("connect to peer: a descriptor of ", peer.nics.size(), " NICs"));
  }
  // One after the other: NICs know one new peer at a time, also of a call that was destroyed.
  while (connecting_ || introductions_open_ > 0) co_await introduced_.Wait();
  const Turn turn(*this);
  const auto number = static_cast<std::uint32_t>(peer_nics_.size());
  introductions_.assign(rails_.size(), {});
  introductions_open_ = rails_.size();
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    Introduction& introduction = introductions_[i];
    introduction.peer = number;
    introduction.addresses = peer.nics;
    introduction.inserted.assign(peer.nics.size(), false);
    for (std::size_t remote = 0; remote < peer.nics.size(); ++remote) {
      if (options_.same_nic_only && remote != i) introduction.addresses[remote] = Address();
    }
    rails_[i]->Tell({.kind = Command::Kind::kIntroduce, .introduction = &introduction});
  }
  while (introductions_open_ > 0) co_await introduced_.Wait();
  std::vector<std::vector<bool>> reachable;
  absl::Status failure = absl::InvalidArgumentError("connect to peer: no NIC of it is in reach");
  bool any = false;
  for (const Introduction& introduction : introductions_) {
    reachable.push_back(introduction.inserted);
    any |= std::count(introduction.inserted.begin(), introduction.inserted.end(), true) > 0;
    if (!introduction.status.ok()) failure = introduction.status;
  }
  if (!any) co_return failure;
  peer_nics_.push_back(peer.nics.size());
  co_return balance_.AddPeer(reachable, SpreadOf(rails_.front()->address()));
}

absl::StatusOr<RemoteRef> Engine::Import(std::uint32_t peer, MemoryDescriptor descriptor) const {
  if (peer >= peer_nics_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("import memory: there is no peer ", peer));
  }
  if (descriptor.nics.size() != peer_nics_[peer] || descriptor.length_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "import memory of peer ", peer, ": ", descriptor.length_bytes, " bytes with ",
        descriptor.nics.size(), " keys, and the peer has ", peer_nics_[peer], " NICs"));
  }
  return RemoteRef(std::make_shared<const RemoteMemory>(peer, std::move(descriptor)));
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

// ---- A turn ----

coro::Time Engine::Now() {
  if (!std::exchange(now_is_read_, true)) now_ = loop_.clock().Now();
  return now_;
}

std::size_t Engine::Poll(std::size_t) {
  now_is_read_ = false;
  std::size_t events = 0;
  for (std::size_t i = 0; i < rails_.size(); ++i) events += TakeArrivals(i) + TakeReports(i);
  if (dirty_) events += Dispatch();
  return events;
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
        ChunkEnded(nic, report.chunk);
        break;
      case Report::Kind::kPageFailed:
        PageFailed(nic, report);
        break;
      case Report::Kind::kIntroduced:
        if (--introductions_open_ == 0) introduced_.NotifyAll();
        break;
      case Report::Kind::kDied:
        balance_.Died(nic);
        break;
    }
    dirty_ = true;
  }
  return taken;
}

void Engine::PageFailed(std::size_t nic, const Report& report) {
  Dispatched& chunk = chunks_[nic][report.chunk];
  Transfer& transfer = *chunk.transfer;
  const PagePlace place = transfer.plan.PlaceOf(report.page, chunk.route.remote);
  const std::uint32_t peer = transfer.plan.TargetOf(report.page).peer();
  chunk.failed.push_back(report.page);
  chunk.failed_bytes += place.bytes;
  const Route route{static_cast<std::uint16_t>(nic), place.remote};
  // Before another way is chosen for it, which a scatter's page remembers in this one's place.
  if (!transfer.plan.scatter.empty()) {
    balance_.Ended(peer, route, 1, place.bytes, place.bytes, Now());
  }
  if (report.tried || report.error == ErrorCode::kUnreachable) {
    balance_.Failed(peer, route, report.error == ErrorCode::kBadDestination);
  }
  const std::uint32_t attempts = chunk.attempts + (report.tried ? 1 : 0);
  if (IsHopeless(report.error) || attempts >= options_.attempts) {
    return Fail(transfer,
                ToStatus(report.error,
                         absl::StrCat("write page ", report.page, " of transfer ",
                                      transfer.plan.transfer, " by NIC ", rails_[nic]->nic().name,
                                      " to NIC ", place.remote, " of peer ", peer, ", attempt ",
                                      attempts, ", provider error ", report.provider_error)));
  }
  if (transfer.over) return;
  ++reissued_;
  backlog_bytes_ += place.bytes;
  transfer.redo.push_back({report.page, attempts, route});
}

void Engine::ChunkEnded(std::size_t nic, std::uint32_t id) {
  Dispatched& chunk = chunks_[nic][id];
  Transfer& transfer = *chunk.transfer;
  const Plan& plan = transfer.plan;
  if (plan.scatter.empty()) {
    const std::uint32_t peer = plan.targets[0]->peer();
    balance_.Ended(peer, chunk.route, chunk.count, chunk.bytes, chunk.failed_bytes, Now());
  }
  for (std::uint32_t i = 0; i < (plan.scatter.empty() ? 0 : chunk.count); ++i) {
    const std::uint32_t number = chunk.first + i;
    if (std::ranges::find(chunk.failed, number) != chunk.failed.end()) continue;
    const ScatterPage& page = plan.scatter[number];
    balance_.Ended(plan.TargetOf(number).peer(), {chunk.route.nic, page.remote}, 1, page.bytes, 0,
                   Now());
  }
  if (chunk.route.failed_before && chunk.failed.empty()) {
    balance_.Worked(plan.TargetOf(chunk.first).peer(), chunk.route);
  }
  transfer.under_way -= chunk.count;
  transfer.completed += chunk.count - chunk.failed.size();
  free_chunks_[nic].push_back(id);
  Settle(transfer);
}

void Engine::Fail(Transfer& transfer, absl::Status status) {
  if (transfer.over) return;
  transfer.over = true;
  transfer.failure = std::move(status);
  Retire(transfer);
}

void Engine::Settle(Transfer& transfer) {
  if (transfer.finished) return;
  if (!transfer.linked() && transfer.HasMore()) return Activate(transfer);
  if (transfer.under_way > 0 || transfer.HasMore()) return;
  transfer.finished = true;
  transfer.done.NotifyAll();
  if (transfer.abandoned) Recycle(transfer);
}

// ---- Handing out ----

void Engine::Activate(Transfer& transfer) {
  active_.PushBack(transfer);
  ++active_count_;
  dirty_ = true;
}

void Engine::Retire(Transfer& transfer) {
  const Plan& plan = transfer.plan;
  for (; transfer.next < plan.pages; ++transfer.next) backlog_bytes_ -= plan.BytesOf(transfer.next);
  for (const Transfer::Redo& redo : transfer.redo) backlog_bytes_ -= plan.BytesOf(redo.page);
  transfer.redo.clear();
  if (!transfer.linked()) return;
  transfer.Unlink();
  --active_count_;
}

std::size_t Engine::Dispatch() {
  dirty_ = false;
  std::size_t handed_out = 0;
  std::size_t busy = 0;  // in a row: all have been asked when all are
  while (busy < active_count_ && (balance_.HasRoom() || !balance_.AnyAlive())) {
    Transfer& transfer = *active_.PopFront();
    --active_count_;
    const Balance::Answer answer = HandOut(transfer);
    if (answer == Balance::Answer::kNone) {
      Fail(transfer,
           absl::UnavailableError(absl::StrCat("transfer ", transfer.plan.transfer,
                                               ": no NIC is left that has a way to its peer")));
      Settle(transfer);
      continue;
    }
    const bool found = answer == Balance::Answer::kFound;
    handed_out += found;
    busy = found ? 0 : busy + 1;
    if (!transfer.HasMore()) continue;
    active_.PushBack(transfer);
    ++active_count_;
  }
  return handed_out;
}

std::uint32_t Engine::ChunkOf(const Transfer& transfer) const {
  const std::uint32_t left = transfer.plan.pages - transfer.next;
  const std::size_t remotes = peer_nics_[transfer.plan.TargetOf(transfer.next).peer()];
  const auto nics = static_cast<std::uint32_t>(std::max(rails_.size(), remotes));
  const std::uint32_t share = (left + kChunksPerNic * nics - 1) / (kChunksPerNic * nics);
  return std::min(share, static_cast<std::uint32_t>(rails_.front()->burst()));
}

Balance::Answer Engine::HandOut(Transfer& transfer) {
  const Plan& plan = transfer.plan;
  const bool again = !transfer.redo.empty();
  Dispatched chunk;
  chunk.transfer = &transfer;
  chunk.first = again ? transfer.redo.back().page : transfer.next;
  chunk.count = again ? 1 : ChunkOf(transfer);
  chunk.attempts = again ? transfer.redo.back().attempts : 0;
  Wish wish;
  wish.peer = plan.TargetOf(chunk.first).peer();
  wish.policy = transfer.policy;
  wish.nic = transfer.nic;
  wish.bytes = plan.BytesOf(chunk.first) * (plan.scatter.empty() ? chunk.count : 1);
  wish.left = backlog_bytes_;
  if (again) wish.avoid = transfer.redo.back().failed;
  const Balance::Answer answer = balance_.Choose(wish, chunk.route);
  if (answer != Balance::Answer::kFound) return answer;
  chunk.count = std::min(chunk.count, balance_.room(chunk.route.nic));
  if (!plan.scatter.empty()) chunk.count = RouteScatter(transfer, chunk);
  Give(transfer, chunk);
  if (again) {
    transfer.redo.pop_back();
  } else {
    transfer.next += chunk.count;
  }
  return answer;
}

std::uint32_t Engine::RouteScatter(Transfer& transfer, const Dispatched& chunk) {
  Plan& plan = transfer.plan;
  plan.scatter[chunk.first].remote = chunk.route.remote;
  std::uint64_t left = backlog_bytes_;
  for (std::uint32_t i = 0; i < chunk.count; ++i) {
    const std::uint32_t page = chunk.first + i;
    const std::uint32_t peer = plan.TargetOf(page).peer();
    const std::uint64_t bytes = plan.BytesOf(page);
    if (i > 0) {
      const auto remote = balance_.ChooseRemote(peer, chunk.route.nic, bytes, left);
      if (!remote.has_value()) return i;  // it has to find another NIC
      plan.scatter[page].remote = *remote;
    }
    balance_.Given(peer, {chunk.route.nic, plan.scatter[page].remote}, 1, bytes, Now());
    left -= bytes;
  }
  return chunk.count;
}

void Engine::Give(Transfer& transfer, Dispatched chunk) {
  const Plan& plan = transfer.plan;
  for (std::uint32_t i = 0; i < chunk.count; ++i) chunk.bytes += plan.BytesOf(chunk.first + i);
  if (plan.scatter.empty()) {
    balance_.Given(plan.targets[0]->peer(), chunk.route, chunk.count, chunk.bytes, Now());
  }
  backlog_bytes_ -= chunk.bytes;
  transfer.under_way += chunk.count;
  const std::size_t nic = chunk.route.nic;
  const std::uint32_t id = free_chunks_[nic].back();
  free_chunks_[nic].pop_back();
  chunks_[nic][id] = chunk;
  rails_[nic]->Tell({.kind = Command::Kind::kChunk,
                     .chunk = {.plan = &plan,
                               .id = id,
                               .first = chunk.first,
                               .count = chunk.count,
                               .remote = chunk.route.remote,
                               .again = chunk.route.failed_before}});
}

}  // namespace drydock::fabric::async::transfer
