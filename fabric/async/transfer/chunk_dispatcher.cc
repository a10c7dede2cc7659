#include "drydock/fabric/async/transfer/chunk_dispatcher.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/fabric/error.h"

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

}  // namespace

ChunkDispatcher::ChunkDispatcher(std::span<const std::unique_ptr<Rail>> rails, Balance& balance,
                                 TransferTable& transfers, coro::Clock& clock,
                                 std::uint32_t attempts)
    : rails_(rails), balance_(balance), transfers_(transfers), clock_(clock), attempts_(attempts) {
  for (const auto& rail : rails_) chunks_.AddNic(rail->most_chunks());
}

coro::Time ChunkDispatcher::Now() {
  if (!std::exchange(now_is_read_, true)) now_ = clock_.Now();
  return now_;
}

// ---- Handing out ----

std::size_t ChunkDispatcher::Dispatch() {
  std::size_t handed_out = 0;
  std::size_t busy = 0;  // in a row: all have been asked when all are
  while (busy < transfers_.queued() && (balance_.HasRoom() || !balance_.AnyAlive())) {
    Transfer& transfer = transfers_.PopFront();
    const Balance::Answer answer = HandOut(transfer);
    if (answer == Balance::Answer::kNone) {
      transfers_.Fail(transfer, absl::UnavailableError(
                                    absl::StrCat("transfer ", transfer.plan.transfer,
                                                 ": no NIC is left that has a way to its peer")));
      continue;
    }
    const bool found = answer == Balance::Answer::kFound;
    handed_out += found;
    busy = found ? 0 : busy + 1;
    if (transfer.HasMore()) transfers_.PushBack(transfer);
  }
  return handed_out;
}

std::uint32_t ChunkDispatcher::ChunkOf(const Transfer& transfer) const {
  const std::uint32_t left = transfer.plan.pages - transfer.next;
  const std::size_t remotes = balance_.remote_count(transfer.plan.TargetOf(transfer.next).peer());
  const auto nics = static_cast<std::uint32_t>(std::max(rails_.size(), remotes));
  const std::uint32_t share = (left + kChunksPerNic * nics - 1) / (kChunksPerNic * nics);
  return std::min(share, static_cast<std::uint32_t>(rails_.front()->burst()));
}

Balance::Answer ChunkDispatcher::HandOut(Transfer& transfer) {
  const Plan& plan = transfer.plan;
  const bool again = !transfer.redo.empty();
  GivenChunk chunk;
  chunk.transfer = &transfer;
  chunk.first = again ? transfer.redo.back().page : transfer.next;
  chunk.count = again ? 1 : ChunkOf(transfer);
  chunk.attempts = again ? transfer.redo.back().attempts : 0;
  Wish wish;
  wish.peer = plan.TargetOf(chunk.first).peer();
  wish.policy = transfer.policy;
  wish.nic = transfer.nic;
  wish.bytes = plan.BytesOf(chunk.first) * (plan.scatter.empty() ? chunk.count : 1);
  wish.left = transfers_.backlog_bytes();
  if (again) wish.avoid = transfer.redo.back().failed;
  const Balance::Answer answer = balance_.Choose(wish, chunk.route);
  if (answer != Balance::Answer::kFound) return answer;
  chunk.count = std::min(chunk.count, balance_.room(chunk.route.nic));
  if (!plan.scatter.empty()) chunk.count = RouteScatter(transfer.plan, chunk);
  Give(chunk);
  return answer;
}

std::uint32_t ChunkDispatcher::RouteScatter(Plan& plan, const GivenChunk& chunk) {
  plan.scatter[chunk.first].remote = chunk.route.remote;
  std::uint64_t left = transfers_.backlog_bytes();
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

void ChunkDispatcher::Give(GivenChunk& chunk) {
  const Plan& plan = chunk.transfer->plan;
  for (std::uint32_t i = 0; i < chunk.count; ++i) chunk.bytes += plan.BytesOf(chunk.first + i);
  if (plan.scatter.empty()) {
    balance_.Given(plan.targets[0]->peer(), chunk.route, chunk.count, chunk.bytes, Now());
  }
  transfers_.HandedOut(*chunk.transfer, chunk.count, chunk.bytes);
  rails_[chunk.route.nic]->Tell({.kind = Command::Kind::kChunk,
                                 .chunk = {.plan = &plan,
                                           .id = chunks_.Add(chunk),
                                           .first = chunk.first,
                                           .count = chunk.count,
                                           .remote = chunk.route.remote,
                                           .again = chunk.route.failed_before}});
}

// ---- What has become of it ----

void ChunkDispatcher::PageFailed(std::size_t nic, const Report& report) {
  GivenChunk& chunk = chunks_.At(nic, report.chunk);
  Transfer& transfer = *chunk.transfer;
  const PagePlace place = transfer.plan.PlaceOf(report.page, chunk.route.remote);
  const std::uint32_t peer = transfer.plan.TargetOf(report.page).peer();
  chunk.failed.push_back({report.page, place.remote});
  chunk.failed_bytes += place.bytes;
  const Route route{static_cast<std::uint16_t>(nic), place.remote};
  if (report.tried || report.error == ErrorCode::kUnreachable) {
    balance_.Failed(peer, route, report.error == ErrorCode::kBadDestination);
  }
  const std::uint32_t attempts = chunk.attempts + (report.tried ? 1 : 0);
  if (IsHopeless(report.error) || attempts >= attempts_) {
    return transfers_.Fail(
        transfer, ToStatus(report.error,
                           absl::StrCat("write page ", report.page, " of transfer ",
                                        transfer.plan.transfer, " by NIC ", rails_[nic]->nic().name,
                                        " to NIC ", place.remote, " of peer ", peer, ", attempt ",
                                        attempts, ", provider error ", report.provider_error)));
  }
  if (transfer.over) return;
  ++reissued_;
  transfers_.HandOutAgain(transfer, {report.page, attempts, route}, place.bytes);
}

void ChunkDispatcher::ChunkEnded(std::size_t nic, std::uint32_t id) {
  const GivenChunk& chunk = chunks_.At(nic, id);
  const Plan& plan = chunk.transfer->plan;
  if (plan.scatter.empty()) {
    const std::uint32_t peer = plan.targets[0]->peer();
    balance_.Ended(peer, chunk.route, chunk.count, chunk.bytes, chunk.failed_bytes, Now());
  }
  for (std::uint32_t i = 0; i < (plan.scatter.empty() ? 0 : chunk.count); ++i) {
    const std::uint32_t number = chunk.first + i;
    const ScatterPage& page = plan.scatter[number];
    const auto failed = std::ranges::find(chunk.failed, number, &GivenChunk::FailedPage::page);
    const bool arrived = failed == chunk.failed.end();
    balance_.Ended(plan.TargetOf(number).peer(),
                   {chunk.route.nic, arrived ? page.remote : failed->remote}, 1, page.bytes,
                   arrived ? 0 : page.bytes, Now());
  }
  if (chunk.route.failed_before && chunk.failed.empty()) {
    balance_.Worked(plan.TargetOf(chunk.first).peer(), chunk.route);
  }
  chunks_.Remove(nic, id);
  transfers_.Ended(*chunk.transfer, chunk.count, chunk.failed.size());
}

}  // namespace drydock::fabric::async::transfer
