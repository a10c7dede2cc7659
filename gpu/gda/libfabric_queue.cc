#include "drydock/gpu/gda/libfabric_queue.h"

#include <rdma/fi_errno.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/libfabric/library.h"

namespace drydock::gpu::gda {

namespace efa = fabric::efa_queue;

namespace {

absl::Status Failed(const char* call, int error) {
  return absl::InternalError(
      absl::StrCat(call, ": ", fabric::libfabric::InstalledLibrary()->strerror(-error)));
}

absl::Status Unusable(absl::string_view what) {
  return absl::InternalError(absl::StrCat("query device queue: the provider's ", what));
}

// What the provider says is checked once, here, and by no device.
absl::Status CheckWorkRing(const WorkRing& ring, const char* name, bool send) {
  if (ring.entries == nullptr || ring.bell.word == nullptr) {
    return Unusable(absl::StrCat(name, " queue is not mapped"));
  }
  const bool sound_size =
      send ? ring.entry_bytes == sizeof(efa::NarrowWqe) || ring.entry_bytes == sizeof(efa::WideWqe)
           : ring.entry_bytes == sizeof(efa::ReceiveDescriptor);
  if (!sound_size) {
    return Unusable(absl::StrCat(name, " queue has entries of ", ring.entry_bytes, " B"));
  }
  if (!efa::IsRingSize(ring.entry_count) || ring.entry_count > efa::kMaxWorkRingEntries) {
    return Unusable(absl::StrCat(name, " queue has ", ring.entry_count, " entries"));
  }
  if (ring.max_batch == 0) return Unusable(absl::StrCat(name, " queue takes no batch"));
  return absl::OkStatus();
}

absl::Status CheckDoneRing(const DoneRing& ring, const char* name) {
  if (ring.entries == nullptr) return Unusable(absl::StrCat(name, " completions are not mapped"));
  if (ring.entry_bytes != 16 && ring.entry_bytes != 32) {
    return Unusable(absl::StrCat(name, " completions have ", ring.entry_bytes, " B"));
  }
  if (!efa::IsRingSize(ring.entry_count)) {
    return Unusable(absl::StrCat(name, " completion queue has ", ring.entry_count, " entries"));
  }
  return absl::OkStatus();
}

WorkRing RingOf(const GdaOps::WorkQueue& queue) {
  WorkRing ring;
  ring.entries = queue.buffer;
  ring.entry_count = queue.entry_count;
  ring.entry_bytes = queue.entry_bytes;
  ring.max_batch = std::min<std::uint32_t>(queue.max_batch, ring.entry_count);
  ring.bell.word = queue.doorbell;  // a register: it takes every store
  return ring;
}

absl::Status QueryDone(GdaOps& ops, fid_cq* queue, const char* name, DoneRing& ring) {
  GdaOps::DoneQueue told;
  if (const int error = ops.QueryCompletionQueue(queue, told); error != 0) {
    return Failed("query_cq", error);
  }
  ring = {told.buffer, told.entry_count, told.entry_bytes};
  return CheckDoneRing(ring, name);
}

}  // namespace

absl::StatusOr<QueueView> QueryQueue(GdaOps& ops, fid_ep* endpoint, fid_cq* send_done,
                                     fid_cq* receive_done) {
  GdaOps::WorkQueue send, receive;
  if (const int error = ops.QueryWorkQueues(endpoint, send, receive); error != 0) {
    return Failed("query_qp_wqs", error);
  }
  QueueView view;
  view.send = RingOf(send);
  view.receive = RingOf(receive);
  view.long_request_ids = send.long_request_ids;
  // For receives, the provider reports a max_batch of 0 where there is no limit.
  if (view.receive.max_batch == 0) view.receive.max_batch = view.receive.entry_count;
  absl::Status status = CheckWorkRing(view.send, "send", true);
  status.Update(CheckWorkRing(view.receive, "receive", false));
  status.Update(QueryDone(ops, send_done, "send", view.send_done));
  status.Update(QueryDone(ops, receive_done, "receive", view.receive_done));
  if (!status.ok()) return status;
  return view;
}

absl::StatusOr<PeerView> QueryPeer(GdaOps& ops, fid_ep* endpoint, std::uint64_t peer) {
  PeerView view;
  const int error = ops.QueryAddress(endpoint, peer, view);
  if (error == -FI_EINVAL) {
    return absl::NotFoundError("query_addr: the peer is not in the address vector");
  }
  if (error != 0) return Failed("query_addr", error);
  return view;
}

absl::StatusOr<std::uint32_t> QueryLocalKey(GdaOps& ops, fid_mr* region) {
  const std::uint64_t key = ops.LocalKey(region);
  if (key == GdaOps::kNoKey || key > efa::kLocalKeyMask) {
    return absl::InternalError("get_mr_lkey: the region has no key that a work request can hold");
  }
  return static_cast<std::uint32_t>(key);
}

}  // namespace drydock::gpu::gda
