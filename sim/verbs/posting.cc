// Posting work: lists of work requests (ibv_post_send, ibv_post_recv) and work requests that are
// built call by call (ibv_wr_...).

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "drydock/sim/verbs/machine.h"
#include "drydock/sim/verbs/queue_pair.h"
#include "drydock/sim/verbs/refusal.h"

namespace drydock::sim::verbs {

namespace efa = fabric::efa_queue;

namespace {

// ---- The common part of both ways ----

void SetTarget(BuiltWork& built, ibv_ah* handle, std::uint32_t queue_pair, std::uint32_t qkey) {
  built.work.address_handle = static_cast<AddressHandle*>(handle)->number;
  built.work.destination_queue_pair = static_cast<std::uint16_t>(queue_pair);
  built.work.qkey = qkey;
}

// No segment is one that libefa takes, too: the device decides (linux-rdma/rdma-core
// providers/efa/verbs.c, efa_post_send_validate_wr and efa_send_wr_set_sge_list).
int SetSegments(BuiltWork& built, std::span<const ibv_sge> segments, std::size_t most) {
  if (segments.size() > most) return EINVAL;
  built.work.segment_count = static_cast<std::uint8_t>(segments.size());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const ibv_sge& segment = segments[i];
    // More bits of a key than the entry has are not the device's business: libefa leaves them out.
    built.work.segments[i] = {.length = segment.length,
                              .lkey = segment.lkey & efa::kLocalKeyMask,
                              .address = segment.addr};
    bytes += segment.length;
  }
  if (built.work.operation != efa::Operation::kSend) {
    built.work.remote.length = static_cast<std::uint32_t>(bytes);
  }
  return 0;
}

// Appends the bytes at `data` to the request's inline data.
int AppendInline(BuiltWork& built, const void* data, std::size_t bytes, std::size_t most) {
  const std::size_t before = built.work.inline_bytes;
  if (bytes > most || before > most - bytes) return EINVAL;
  built.work.is_inline = true;
  if (bytes > 0) std::memcpy(built.inline_data.data() + before, data, bytes);
  built.work.inline_bytes = static_cast<std::uint16_t>(before + bytes);
  if (built.work.operation != efa::Operation::kSend) {
    built.work.remote.length = built.work.inline_bytes;
  }
  return 0;
}

// ---- Lists ----

int Build(const QueuePair& queue_pair, const ibv_send_wr& request, BuiltWork& built) {
  if (const int error = queue_pair.CheckSend(request.send_flags); error != 0) return error;
  if (request.opcode != IBV_WR_SEND && request.opcode != IBV_WR_SEND_WITH_IMM) {
    return Refuse("ibv_post_send: EFA sends by it; reads and writes are posted by ibv_wr_start",
                  EINVAL);
  }
  built.wr_id = request.wr_id;
  if (request.opcode == IBV_WR_SEND_WITH_IMM) {
    built.work.has_immediate = true;
    built.work.immediate = be32toh(request.imm_data);
  }
  SetTarget(built, request.wr.ud.ah, request.wr.ud.remote_qpn, request.wr.ud.remote_qkey);
  const std::span<const ibv_sge> segments(request.sg_list,
                                          static_cast<std::size_t>(std::max(request.num_sge, 0)));
  if ((request.send_flags & IBV_SEND_INLINE) == 0) {
    return SetSegments(built, segments, queue_pair.cap().max_send_sge);
  }
  built.work.is_inline = true;
  for (const ibv_sge& segment : segments) {
    const int error = AppendInline(built, reinterpret_cast<const void*>(segment.addr),
                                   segment.length, queue_pair.cap().max_inline_data);
    if (error != 0) return error;
  }
  return 0;
}

// The fault plan says that a ring is full.
bool IsFullByPlan(const QueuePair& queue_pair, fabric::OperationKind kind) {
  fabric::faults::FaultEngine* const plan = (*Machine::Get())->faults();
  if (plan == nullptr) return false;
  const Context& context = queue_pair.owner();
  fabric::faults::EventView view;
  view.nic = context.nic->name();
  view.time = context.host->world().timeline().elapsed();
  view.operation = kind;
  return static_cast<bool>(
      plan->Decide(fabric::faults::Layer::kDecorator, fabric::faults::Point::kPost, view));
}

}  // namespace

int PostSends(ibv_qp* ibv, ibv_send_wr* request, ibv_send_wr** bad) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  Visit visit;
  if (!visit.Enter(queue_pair.sending)) TellTwoThreads(queue_pair, __builtin_return_address(0));
  Context& context = queue_pair.owner();
  const Calling lock(context);
  context.host->Progress();
  queue_pair.NoteDoorbells();
  int error = 0;
  for (; request != nullptr; request = request->next) {
    BuiltWork built;
    error = Build(queue_pair, *request, built);
    if (error == 0 && IsFullByPlan(queue_pair, fabric::OperationKind::kSend)) error = ENOMEM;
    if (error == 0) error = queue_pair.PostSend(built);
    if (error != 0) break;
  }
  if (error != 0 && bad != nullptr) *bad = request;
  queue_pair.RingSends();
  context.host->Posted();
  return error;
}

int PostReceives(ibv_qp* ibv, ibv_recv_wr* request, ibv_recv_wr** bad) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  Visit visit;
  if (!visit.Enter(queue_pair.receiving)) TellTwoThreads(queue_pair, __builtin_return_address(0));
  Context& context = queue_pair.owner();
  const Calling lock(context);
  context.host->Progress();
  queue_pair.NoteDoorbells();
  int error = 0;
  for (; request != nullptr; request = request->next) {
    if (IsFullByPlan(queue_pair, fabric::OperationKind::kReceive)) error = ENOMEM;
    if (error == 0) error = queue_pair.PostReceive(*request);
    if (error != 0) break;
  }
  if (error != 0 && bad != nullptr) *bad = request;
  queue_pair.RingReceives();
  context.host->Posted();
  return error;
}

// ---- Call by call ----

namespace {

BuiltWork& Last(ibv_qp_ex* ibv) { return QueuePairOf(ibv).built.back(); }

void Start(ibv_qp_ex* ibv) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  if (!queue_pair.sending.Enter()) TellTwoThreads(queue_pair, __builtin_return_address(0));
  queue_pair.building.lock();
  queue_pair.sending.Enter();
  queue_pair.built.clear();
  queue_pair.build_error = 0;
}

// A setter before any builder, or one that failed, makes the whole session fail.
template <typename Set>
void Change(ibv_qp_ex* ibv, Set set) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  if (queue_pair.build_error != 0) return;
  queue_pair.build_error = queue_pair.built.empty() ? EINVAL : set(queue_pair, Last(ibv));
}

BuiltWork* Begin(ibv_qp_ex* ibv, efa::Operation operation) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  if (queue_pair.build_error != 0) return nullptr;
  queue_pair.build_error = queue_pair.CheckSend(ibv->wr_flags);
  if (queue_pair.build_error != 0) return nullptr;
  BuiltWork& built = queue_pair.built.emplace_back();
  queue_pair.unrung.fetch_add(1, std::memory_order_relaxed);
  built.wr_id = ibv->wr_id;
  built.work.operation = operation;
  return &built;
}

BuiltWork* BeginRemote(ibv_qp_ex* ibv, efa::Operation operation, std::uint32_t key,
                       std::uint64_t address) {
  BuiltWork* built = Begin(ibv, operation);
  if (built != nullptr) built->work.remote = {.length = 0, .rkey = key, .address = address};
  return built;
}

void SetImmediate(BuiltWork* built, __be32 immediate) {
  if (built == nullptr) return;
  built->work.has_immediate = true;
  built->work.immediate = be32toh(immediate);
}

void Send(ibv_qp_ex* ibv) { Begin(ibv, efa::Operation::kSend); }
void SendWithImmediate(ibv_qp_ex* ibv, __be32 immediate) {
  SetImmediate(Begin(ibv, efa::Operation::kSend), immediate);
}
void Read(ibv_qp_ex* ibv, std::uint32_t key, std::uint64_t address) {
  BeginRemote(ibv, efa::Operation::kRead, key, address);
}
void Write(ibv_qp_ex* ibv, std::uint32_t key, std::uint64_t address) {
  BeginRemote(ibv, efa::Operation::kWrite, key, address);
}
void WriteWithImmediate(ibv_qp_ex* ibv, std::uint32_t key, std::uint64_t address,
                        __be32 immediate) {
  SetImmediate(BeginRemote(ibv, efa::Operation::kWrite, key, address), immediate);
}

void SetAddress(ibv_qp_ex* ibv, ibv_ah* handle, std::uint32_t queue_pair, std::uint32_t qkey) {
  Change(ibv, [&](QueuePair&, BuiltWork& built) {
    SetTarget(built, handle, queue_pair, qkey);
    return 0;
  });
}

void SetSegmentList(ibv_qp_ex* ibv, std::size_t count, const ibv_sge* segments) {
  Change(ibv, [&](QueuePair& queue_pair, BuiltWork& built) {
    const DeviceAttributes& device = queue_pair.owner().profile().device;
    const bool send = built.work.operation == efa::Operation::kSend;
    return SetSegments(built, {segments, count},
                       send ? queue_pair.cap().max_send_sge : device.max_wr_rdma_sges);
  });
}
void SetSegment(ibv_qp_ex* ibv, std::uint32_t key, std::uint64_t address, std::uint32_t length) {
  const ibv_sge segment{.addr = address, .length = length, .lkey = key};
  SetSegmentList(ibv, 1, &segment);
}

void SetInlineList(ibv_qp_ex* ibv, std::size_t count, const ibv_data_buf* buffers) {
  Change(ibv, [&](QueuePair& queue_pair, BuiltWork& built) {
    // A read takes nothing along, and a 64-byte write has no room.
    const bool wide = queue_pair.device().send.format().wide;
    const bool write = built.work.operation == efa::Operation::kWrite;
    int error = built.work.operation == efa::Operation::kSend || (write && wide) ? 0 : EINVAL;
    built.work.is_inline = true;
    built.work.inline_bytes = 0;  // in place of those that were set before
    built.work.remote.length = 0;
    for (std::size_t i = 0; i < count && error == 0; ++i) {
      error =
          AppendInline(built, buffers[i].addr, buffers[i].length, queue_pair.cap().max_inline_data);
    }
    return error;
  });
}
void SetInline(ibv_qp_ex* ibv, void* data, std::size_t length) {
  const ibv_data_buf buffer{.addr = data, .length = length};
  SetInlineList(ibv, 1, &buffer);
}

// How the device orders its work between its engines is not modelled: a hint changes nothing.
void SetProcessingHints(QpFunctions* functions, std::uint32_t hints) {
  QueuePair& owner = *static_cast<QueuePairFunctions*>(functions)->queue_pair;
  Change(&owner, [hints](QueuePair&, BuiltWork&) {
    return (hints & ~kHintBurstPpsSensitive) == 0 ? 0 : EINVAL;
  });
}

// All of a session's requests, or none.
int Post(QueuePair& queue_pair) {
  if (queue_pair.build_error != 0) return queue_pair.build_error;
  Context& context = queue_pair.owner();
  const Calling lock(context);
  context.host->Progress();
  queue_pair.NoteDoorbells();  // it may have rung since the session began
  if (const int error = queue_pair.CheckSendDoorbell(); error != 0) return error;
  if (queue_pair.free_sends() < queue_pair.built.size()) {
    TellAgain(queue_pair, queue_pair.built.front().work, queue_pair.built.front().wr_id);
    return ENOMEM;
  }
  for (const BuiltWork& built : queue_pair.built) {
    if (IsFullByPlan(queue_pair, KindOf(built.work.operation))) return ENOMEM;
  }
  for (BuiltWork& built : queue_pair.built) {
    if (const int error = queue_pair.PostSend(built); error != 0) return error;
  }
  queue_pair.RingSends();
  context.host->Posted();
  return 0;
}

void End(QueuePair& queue_pair) {
  queue_pair.unrung.store(0, std::memory_order_relaxed);
  queue_pair.sending.Leave();
  queue_pair.building.unlock();
}

int Complete(ibv_qp_ex* ibv) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  const int error = Post(queue_pair);
  End(queue_pair);
  return error;
}

void Abort(ibv_qp_ex* ibv) { End(QueuePairOf(ibv)); }

}  // namespace

void FillWorkRequestFunctions(QueuePair& queue_pair, std::uint64_t send_ops,
                              std::uint64_t efa_settings) {
  queue_pair.wr_start = Start;
  queue_pair.wr_complete = Complete;
  queue_pair.wr_abort = Abort;
  queue_pair.wr_set_ud_addr = SetAddress;
  queue_pair.wr_set_sge = SetSegment;
  queue_pair.wr_set_sge_list = SetSegmentList;
  queue_pair.wr_set_inline_data = SetInline;
  queue_pair.wr_set_inline_data_list = SetInlineList;
  if ((send_ops & IBV_QP_EX_WITH_SEND) != 0) queue_pair.wr_send = Send;
  if ((send_ops & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0) queue_pair.wr_send_imm = SendWithImmediate;
  if ((send_ops & IBV_QP_EX_WITH_RDMA_READ) != 0) queue_pair.wr_rdma_read = Read;
  if ((send_ops & IBV_QP_EX_WITH_RDMA_WRITE) != 0) queue_pair.wr_rdma_write = Write;
  if ((send_ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0) {
    queue_pair.wr_rdma_write_imm = WriteWithImmediate;
  }
  if ((efa_settings & kWrWithProcessingHints) != 0) {
    queue_pair.functions().wr_set_processing_hints = SetProcessingHints;
  }
}

}  // namespace drydock::sim::verbs
