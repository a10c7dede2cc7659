// The calls of an engine, each from its beginning until none of its pages is under way any more.
//
//   New ── Submit ──► queue ── HandedOut ──► under way ── Ended ──► finished ── Release ──► New
//                       ▲                        │
//                       └───── HandOutAgain ─────┘ a page that failed
//
// A transfer is in the queue while it has pages to hand out; those in the queue take turns.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_TRANSFER_TABLE_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_TRANSFER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/intrusive_list.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/transfer/balance.h"
#include "drydock/fabric/async/transfer/plan.h"
#include "drydock/fabric/async/transfer/policy.h"

namespace drydock::fabric::async::transfer {

// One call; used again by a later one. The caller of TransferTable::New fills in the first three
// members, and the table the others.
struct Transfer : coro::ListNode {
  // A page that failed.
  struct Redo {
    std::uint32_t page = 0;
    std::uint32_t attempts = 0;
    Route failed;
  };

  Plan plan;
  Policy policy = Policy::kRoundRobin;
  std::size_t nic = 0;          // of Policy::kPinned
  std::uint32_t next = 0;       // the first page that was never handed out
  std::uint32_t under_way = 0;  // pages that NICs have
  std::uint32_t completed = 0;
  std::vector<Redo> redo;
  bool over = false;      // failed or abandoned: nothing more is handed out
  bool finished = false;  // nothing is under way, and nothing will be
  bool abandoned = false;
  absl::Status failure;
  coro::WaitList done{"a transfer"};

  bool HasMore() const { return !over && (next < plan.pages || !redo.empty()); }
};

// Owns its transfers. Dies after the NICs, which read plans. Not thread-safe.
class TransferTable {
 public:
  TransferTable() = default;
  TransferTable(const TransferTable&) = delete;
  TransferTable& operator=(const TransferTable&) = delete;

  // A transfer with an empty plan, to be submitted or recycled.
  Transfer& New();
  // Keeps it for a later call. REQUIRES: it was not submitted.
  void Recycle(Transfer& transfer);
  // Queues the pages of its plan. `done` is notified when it is `finished`; then `failure` is its
  // result. REQUIRES: the plan is there, and has pages.
  void Submit(Transfer& transfer) {
    backlog_bytes_ += transfer.plan.total_bytes;
    PushBack(transfer);
  }
  // Its caller waits no more: recycles it when it is finished. Until then nothing more is handed
  // out, and its plan stays for the pages that are under way.
  void Release(Transfer& transfer) {
    if (transfer.finished) return Recycle(transfer);
    transfer.abandoned = true;
    Fail(transfer, absl::CancelledError("nobody waits for it"));
  }

  // --- What becomes of its pages ---
  // A NIC was given `pages` pages, `bytes` in all: the one that failed last, else the next ones.
  void HandedOut(Transfer& transfer, std::uint32_t pages, std::uint64_t bytes) {
    backlog_bytes_ -= bytes;
    transfer.under_way += pages;
    if (transfer.redo.empty()) {
      transfer.next += pages;
    } else {
      transfer.redo.pop_back();
    }
  }
  // A page that a NIC had, of `bytes` bytes, failed, and is to be handed out once more.
  void HandOutAgain(Transfer& transfer, const Transfer::Redo& page, std::uint64_t bytes) {
    backlog_bytes_ += bytes;
    transfer.redo.push_back(page);
  }
  // `pages` pages are under way no more, of which `failed` failed. The transfer is finished when
  // these were the last; then it is recycled if it was released.
  void Ended(Transfer& transfer, std::uint32_t pages, std::size_t failed) {
    transfer.under_way -= pages;
    transfer.completed += pages - static_cast<std::uint32_t>(failed);
    Settle(transfer);
  }
  // Nothing more is handed out, and the transfer ends with this error, unless it has one already:
  // now when none of its pages is under way, else when they have ended.
  void Fail(Transfer& transfer, absl::Status status);

  // --- The queue ---
  std::size_t queued() const { return queued_count_; }
  // Bytes that wait to be handed out, of all transfers.
  std::uint64_t backlog_bytes() const { return backlog_bytes_; }
  // The transfer whose turn it is leaves the queue. REQUIRES: it is not empty.
  Transfer& PopFront() {
    --queued_count_;
    return *queue_.PopFront();
  }
  // After its turn, when it has more to hand out.
  void PushBack(Transfer& transfer) {
    queue_.PushBack(transfer);
    ++queued_count_;
  }

 private:
  // Nothing more of it is handed out.
  void Retire(Transfer& transfer);
  // Queues it when it has pages to hand out again; finishes it when it is over and done.
  void Settle(Transfer& transfer) {
    if (transfer.finished) return;
    if (!transfer.linked() && transfer.HasMore()) return PushBack(transfer);
    if (transfer.under_way > 0 || transfer.HasMore()) return;
    transfer.finished = true;
    transfer.done.NotifyAll();
    if (transfer.abandoned) Recycle(transfer);
  }

  std::vector<std::unique_ptr<Transfer>> transfers_;  // all that there ever were at a time
  std::vector<Transfer*> idle_;
  coro::IntrusiveList<Transfer> queue_;
  std::size_t queued_count_ = 0;
  std::uint64_t backlog_bytes_ = 0;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_TRANSFER_TABLE_H_
