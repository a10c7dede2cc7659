#include "drydock/sim/verbs/telling.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "drydock/fabric/endpoint.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/posted.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/verbs/completion_queue.h"
#include "drydock/sim/verbs/machine.h"
#include "drydock/sim/verbs/objects.h"
#include "drydock/sim/verbs/queue_pair.h"

namespace drydock::sim::verbs {
namespace {

namespace efa = fabric::efa_queue;

using fabric::OperationKind;

const Observers& ObserversOf(const Context& context) { return context.host->world().observers(); }

// The interface has address handles, numbers and keys of queue pairs where observers have peers.
struct PeerName {
  std::uint16_t handle = 0;
  std::uint16_t queue_pair = 0;
  std::uint32_t qkey = 0;

  static PeerName Of(fabric::Peer peer) {
    const auto bits = static_cast<std::uint64_t>(peer);
    return {static_cast<std::uint16_t>(bits >> 48), static_cast<std::uint16_t>(bits >> 32),
            static_cast<std::uint32_t>(bits)};
  }
  fabric::Peer Pack() const {
    return fabric::Peer{std::uint64_t{handle} << 48 | std::uint64_t{queue_pair} << 32 | qkey};
  }
};

const AddressHandles::Handle* HandleOf(const QueuePair& queue_pair, std::uint16_t number) {
  return queue_pair.owner().nic->state().handles.Find(number, queue_pair.device().domain);
}

// The state of a peer. Of one in another process the device has reported it: a queue pair that is
// gone does not come back, because the keys of its successors are others; one that is reset may,
// and then this is wrong. A plan may lie.
PeerState StateOf(const QueuePair& queue_pair, fabric::Peer peer) {
  const PeerName name = PeerName::Of(peer);
  const AddressHandles::Handle* const handle = HandleOf(queue_pair, name.handle);
  const bool plan = (*Machine::Get())->faults() != nullptr;
  if (handle == nullptr || handle->peer == nullptr || plan) return PeerState::kReachable;
  if (handle->peer->elsewhere) return PeerState::kNoQueuePair;
  return handle->peer->StateFor(queue_pair.owner().nic->state(), name.queue_pair, name.qkey);
}

template <typename Work>
std::uint64_t BytesOf(const Work& work) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < work.segment_count; ++i) bytes += work.segments[i].length;
  return bytes;
}

Posted PostedOf(const efa::SendWork& work, std::uint64_t wr_id) {
  Posted posted;
  posted.kind = KindOf(work.operation);
  posted.signalled = true;  // others are refused
  posted.has_immediate = work.has_immediate;
  posted.immediate = work.immediate;
  posted.context = fabric::Context{wr_id};
  posted.peer = PeerName{work.address_handle, work.destination_queue_pair, work.qkey}.Pack();
  posted.length = work.is_inline ? work.inline_bytes : BytesOf(work);
  if (!work.is_inline) posted.local = work.segments[0].address;
  if (posted.kind == OperationKind::kSend) return posted;
  posted.remote = work.remote.address;
  posted.key = work.remote.rkey;
  return posted;
}

void TellUnrung(const QueuePair& queue_pair) {
  const std::size_t left = queue_pair.unrung.load(std::memory_order_relaxed);
  if (!queue_pair.told_ready || left == 0) return;
  ObserversOf(queue_pair.owner()).Tell<&Observer::OnBatchLeft>(queue_pair.device(), left);
}

void TellTwoThreads(const Context& context, std::uint32_t number, bool queue_pair) {
  const Calling lock(context);
  ObserversOf(context).Tell<&Observer::OnTwoThreads>(context.nic->state(), number, queue_pair);
}

// libfabric's locks keep the threads of a program apart that asked for it: two of them get here
// only where it has promised to keep them apart by itself (FI_THREAD_DOMAIN and the like).
bool IsLibfabric(const void* caller) {
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  const std::string_view name = slash == nullptr ? info.dli_fname : slash + 1;
  return name.substr(0, 12) == "libfabric.so";
}

}  // namespace

OperationKind KindOf(efa::Operation operation) {
  switch (operation) {
    case efa::Operation::kWrite:
      return OperationKind::kWrite;
    case efa::Operation::kRead:
      return OperationKind::kRead;
    default:
      return OperationKind::kSend;
  }
}

bool IsWatched() { return (*Machine::Get())->findings() != nullptr; }

// ---- Objects ----

void TellOpened(Opened& opened, const Context& context, ObjectKind kind) {
  if (!IsWatched()) return;
  opened.emplace(context.host->world().surroundings(), kind, context.nic->state());
}

void TellBusy(Opened& opened) {
  if (opened.has_value()) opened->Busy();
}

void TellReady(QueuePair& queue_pair) {
  if (queue_pair.told_ready || !IsWatched()) return;
  queue_pair.told_ready = true;
  const sim::QueuePair& device = queue_pair.device();
  ObserversOf(queue_pair.owner())
      .Tell<&Observer::OnEndpointOpened>(EndpointOpened{
          .nic = queue_pair.owner().nic->state(),
          .queue_pair = device,
          .send_depth = queue_pair.cap().max_send_wr,
          .receive_depth = queue_pair.cap().max_recv_wr,
          .immediates_take_receives = !device.unsolicited_immediates,
          .state_of = [&queue_pair](fabric::Peer peer) { return StateOf(queue_pair, peer); }});
}

void TellUnrungAtEnd(QueuePair& queue_pair) {
  if (queue_pair.sending.Enter()) TellUnrung(queue_pair);
}

void TellClosing(QueuePair& queue_pair) {
  if (!queue_pair.told_ready) return;
  TellUnrung(queue_pair);
  ObserversOf(queue_pair.owner()).Tell<&Observer::OnEndpointClosing>(queue_pair.device());
}

void TellMapped(const QueuePair& queue_pair) {
  if (!queue_pair.told_ready) return;
  ObserversOf(queue_pair.owner()).Tell<&Observer::OnRingsTaken>(queue_pair.device());
}

void TellQueueOpened(const Queue& queue) {
  if (!IsWatched()) return;
  const Nic& nic = *queue.owner().nic;
  ObserversOf(queue.owner()).Tell<&Observer::OnQueueOpened>(*queue.ring(), nic.index());
}

void TellQueueClosing(const Queue& queue, std::uint32_t unacknowledged) {
  if (!IsWatched() || queue.ring()->mapped()) return;
  ObserversOf(queue.owner())
      .Tell<&Observer::OnQueueClosing>(queue.owner().nic->state(), *queue.ring(),
                                       queue.has_unread(), unacknowledged);
}

// A number has as many references as the program has made handles to the same peer.
void TellHandleClosing(const Context& context, std::uint16_t handle, std::uint16_t domain) {
  if (!IsWatched()) return;
  const AddressHandles::Handle* const found = context.nic->state().handles.Find(handle, domain);
  if (found == nullptr || found->references > 1) return;
  ObserversOf(context).Tell<&Observer::OnHandleClosing>(context.nic->state(), handle);
}

// ---- Requests ----

void TellPosted(const QueuePair& queue_pair, const efa::SendWork& work, std::uint64_t wr_id) {
  if (!IsWatched()) return;
  const AddressHandles::Handle* const handle = HandleOf(queue_pair, work.address_handle);
  const bool known = handle != nullptr && handle->peer != nullptr;
  ObserversOf(queue_pair.owner())
      .Tell<&Observer::OnPosted>(queue_pair.device(), work, PostedOf(work, wr_id),
                                 known ? handle->peer->index() : kNoActor);
}

void TellPosted(const QueuePair& queue_pair, const efa::ReceiveWork& work, std::uint64_t wr_id) {
  if (!IsWatched()) return;
  Posted posted;
  posted.kind = OperationKind::kReceive;
  posted.signalled = true;
  posted.context = fabric::Context{wr_id};
  posted.local = work.segments[0].address;
  posted.length = BytesOf(work);
  ObserversOf(queue_pair.owner())
      .Tell<&Observer::OnReceivePosted>(queue_pair.device(), work, posted);
}

void TellAgain(const QueuePair& queue_pair, const efa::SendWork& work, std::uint64_t wr_id) {
  if (!IsWatched()) return;
  const Context& context = queue_pair.owner();
  ObserversOf(context).Tell<&Observer::OnAgain>(context.nic->state(), queue_pair.device(),
                                                PostedOf(work, wr_id));
}

void TellRead(const QueuePair& queue_pair, bool receive, std::uint16_t request_id,
              std::uint8_t status) {
  if (!queue_pair.told_ready) return;
  ObserversOf(queue_pair.owner())
      .Tell<&Observer::OnCompletionRead>(queue_pair.device(), receive, request_id, status);
}

void TellPolling(const Queue& queue) {
  if (!IsWatched()) return;
  ObserversOf(queue.owner()).Tell<&Observer::OnPolling>(*queue.ring());
}

// ---- Threads ----

void TellTwoThreads(const QueuePair& queue_pair, const void* caller) {
  const bool promised = static_cast<const Domain*>(queue_pair.qp_base.pd)->thread != nullptr;
  if (!IsWatched() || (!promised && !IsLibfabric(caller))) return;
  TellTwoThreads(queue_pair.owner(), queue_pair.device().number, true);
}

void TellTwoThreads(const Queue& queue) {
  if (!IsWatched() || !queue.of_one_thread()) return;
  TellTwoThreads(queue.owner(), queue.ring()->number(), false);
}

}  // namespace drydock::sim::verbs
