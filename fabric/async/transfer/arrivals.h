// The receiver's side: which pages of which transfer have arrived, by whichever NIC.
//
// Immediates come from peers, which are not trusted: one of a transfer that is not expected, or of
// a page that it does not have, is refused and counted; a second one of the same page is counted,
// and changes nothing.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_ARRIVALS_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_ARRIVALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"

namespace drydock::fabric::async::transfer {

// Takes the arrivals of one transfer.
class ArrivalSink {
 public:
  enum class Verdict { kNew, kDuplicate, kRefused };
  // Announced by a peer: any number. kRefused: the transfer has no such page.
  virtual Verdict Arrived(std::uint32_t page) = 0;

 protected:
  ~ArrivalSink() = default;
};

struct ArrivalCounters {
  std::uint64_t pages = 0;       // that were new
  std::uint64_t duplicates = 0;  // that had come before: their NIC died, or the network has done it
  std::uint64_t refused = 0;     // of a transfer that is not expected, or out of range
};

// Sinks by transfer. Not thread-safe.
class ArrivalTable {
 public:
  ArrivalTable();

  // False: the transfer has one, or is out of range.
  bool Add(std::uint32_t transfer, ArrivalSink& sink);
  void Remove(std::uint32_t transfer);
  // REQUIRES: in range.
  bool Has(std::uint32_t transfer) const { return sinks_[transfer] != nullptr; }
  void Arrived(std::uint32_t immediate);
  const ArrivalCounters& counters() const { return counters_; }

 private:
  std::vector<ArrivalSink*> sinks_;
  ArrivalCounters counters_;
};

// The pages of one transfer, counted from its construction on. Not thread-safe, not movable. Dies
// before its engine, and after every Reached that waits on it.
class Expectation final : public ArrivalSink {
 public:
  Expectation(ArrivalTable& table, std::uint32_t transfer, std::uint32_t pages);
  Expectation(const Expectation&) = delete;
  Expectation& operator=(const Expectation&) = delete;
  ~Expectation() { table_.Remove(transfer_); }

  std::uint32_t pages() const { return pages_; }
  std::uint32_t distinct() const { return distinct_; }      // pages that have arrived
  std::uint32_t duplicates() const { return duplicates_; }  // announcements of pages that had
  bool has(std::uint32_t page) const { return (seen_[page / 64] >> (page % 64) & 1) != 0; }

  // Waits until so many pages have arrived (by default all of them); false when the deadline came
  // first. The bytes of the pages that have arrived may be read then. They may be written only when
  // the sender says that its call has returned: until then it may write a page again, with the same
  // bytes.
  coro::Task<bool> Reached(coro::Time deadline = coro::kNever) { return Reached(pages_, deadline); }
  coro::Task<bool> Reached(std::uint32_t count, coro::Time deadline);

  // --- ArrivalSink ---
  Verdict Arrived(std::uint32_t page) override;

 private:
  ArrivalTable& table_;
  const std::uint32_t transfer_;
  const std::uint32_t pages_;
  std::uint32_t distinct_ = 0;
  std::uint32_t duplicates_ = 0;
  std::uint32_t wake_at_ = UINT32_MAX;  // the fewest pages that a task waits for
  std::vector<std::uint64_t> seen_;     // a bit for each page
  coro::WaitList reached_{"pages of a transfer"};
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_ARRIVALS_H_
