#include "drydock/fabric/async/transfer/transfer_table.h"

#include <utility>

namespace drydock::fabric::async::transfer {

Transfer& TransferTable::New() {
  if (idle_.empty()) {
    transfers_.push_back(std::make_unique<Transfer>());
    idle_.push_back(transfers_.back().get());
  }
  Transfer& transfer = *idle_.back();
  idle_.pop_back();
  return transfer;
}

void TransferTable::Recycle(Transfer& transfer) {
  transfer.plan.Clear();
  transfer.next = transfer.completed = 0;
  transfer.over = transfer.finished = transfer.abandoned = false;
  transfer.failure = absl::OkStatus();
  idle_.push_back(&transfer);
}

void TransferTable::Fail(Transfer& transfer, absl::Status status) {
  if (!transfer.over) {
    transfer.over = true;
    transfer.failure = std::move(status);
    Retire(transfer);
  }
  Settle(transfer);
}

void TransferTable::Retire(Transfer& transfer) {
  const Plan& plan = transfer.plan;
  for (; transfer.next < plan.pages; ++transfer.next) backlog_bytes_ -= plan.BytesOf(transfer.next);
  for (const Transfer::Redo& redo : transfer.redo) backlog_bytes_ -= plan.BytesOf(redo.page);
  transfer.redo.clear();
  if (!transfer.linked()) return;
  transfer.Unlink();
  --queued_count_;
}

}  // namespace drydock::fabric::async::transfer
