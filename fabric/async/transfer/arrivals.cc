#include "drydock/fabric/async/transfer/arrivals.h"

#include <algorithm>

#include "drydock/coro/check.h"
#include "drydock/fabric/async/transfer/immediate.h"

namespace drydock::fabric::async::transfer {

ArrivalTable::ArrivalTable() : sinks_(kMostTransfers, nullptr) {}

bool ArrivalTable::Add(std::uint32_t transfer, ArrivalSink& sink) {
  if (transfer >= sinks_.size() || sinks_[transfer] != nullptr) return false;
  sinks_[transfer] = &sink;
  return true;
}

void ArrivalTable::Remove(std::uint32_t transfer) { sinks_[transfer] = nullptr; }

void ArrivalTable::Arrived(std::uint32_t immediate) {
  ArrivalSink* const sink = sinks_[TransferOf(immediate)];
  auto verdict = ArrivalSink::Verdict::kRefused;
  if (sink != nullptr) verdict = sink->Arrived(PageOf(immediate));
  counters_.pages += verdict == ArrivalSink::Verdict::kNew;
  counters_.duplicates += verdict == ArrivalSink::Verdict::kDuplicate;
  counters_.refused += verdict == ArrivalSink::Verdict::kRefused;
}

Expectation::Expectation(ArrivalTable& table, std::uint32_t transfer, std::uint32_t pages)
    : table_(table), transfer_(transfer), pages_(pages), seen_((pages + 63) / 64) {
  DD_CHECK(table_.Add(transfer, *this), "two expect one transfer");
}

ArrivalSink::Verdict Expectation::Arrived(std::uint32_t page) {
  if (page >= pages_) return Verdict::kRefused;
  std::uint64_t& word = seen_[page / 64];
  const std::uint64_t bit = std::uint64_t{1} << (page % 64);
  if ((word & bit) != 0) {
    ++duplicates_;
    return Verdict::kDuplicate;
  }
  word |= bit;
  if (++distinct_ >= wake_at_) {
    wake_at_ = UINT32_MAX;
    reached_.NotifyAll();
  }
  return Verdict::kNew;
}

coro::Task<bool> Expectation::Reached(std::uint32_t count, coro::Time deadline) {
  bool in_time = true;
  while (distinct_ < count && in_time) {
    wake_at_ = std::min(wake_at_, count);
    in_time = co_await reached_.Wait(deadline);
  }
  co_return distinct_ >= count;
}

}  // namespace drydock::fabric::async::transfer
