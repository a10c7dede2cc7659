#include "drydock/sim/verbs/queue_pair.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "drydock/sim/verbs/completion_counter.h"
#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/queue_pair_moves.h"
#include "drydock/sim/verbs/refusal.h"

namespace drydock::sim::verbs {

namespace efa = fabric::efa_queue;

namespace {

constexpr char kOnlyUd[] = "ibv_create_qp: EFA has the types UD, and SRD by efadv_create_qp_ex";
// rdma-core providers/efa/verbs.c would write over the program's entries.
constexpr char kDriven[] =
    "ibv_post_send, ibv_post_recv: the program has rung this queue's doorbell itself, so it alone "
    "posts there (efadv_query_qp_wqs)";
constexpr std::uint64_t kDatagramOps = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

std::uint64_t OpsOf(const DeviceAttributes& device, bool datagram) {
  if (datagram) return kDatagramOps;
  return kDatagramOps | (device.rdma_read ? IBV_QP_EX_WITH_RDMA_READ : 0) |
         (device.rdma_write ? IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM : 0);
}

// 128-byte work requests: for more inline bytes, or for writes with any.
bool IsWide(const ibv_qp_init_attr_ex& attr, const QpInitAttr& efa,
            const DeviceAttributes& device) {
  return attr.cap.max_inline_data > device.inline_buf_size || (efa.flags & kQpInlineWrite) != 0;
}

// Checks a program's attributes: an errno when the device cannot give them.
int Check(const ibv_qp_init_attr_ex& attr, const QpInitAttr& efa, const Profile& profile) {
  const DeviceAttributes& device = profile.device;
  const bool datagram = attr.qp_type == IBV_QPT_UD;
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((attr.comp_mask & ~kKnown) != 0) return Refuse("ibv_create_qp_ex: members EFA does not have");
  if (!datagram && efa.driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD) {
    return Refuse("efadv_create_qp_ex: a queue pair of another type than SRD");
  }
  if ((efa.flags & ~(kQpUnsolicitedWriteRecv | kQpInlineWrite)) != 0)
    return Refuse("efadv_create_qp_ex: unknown flags");
  if ((efa.wr_flags & ~kWrWithProcessingHints) != 0) {
    return Refuse("efadv_create_qp_ex: unknown wr_flags");
  }
  if ((efa.flags & kQpUnsolicitedWriteRecv) != 0 && !device.unsolicited_write_recv) {
    return Refuse("efadv_create_qp_ex: these NICs have no unsolicited receives of writes");
  }
  const bool has_wide = device.inline_buf_size_ex > device.inline_buf_size;
  if ((efa.flags & kQpInlineWrite) != 0 && (!has_wide || !device.rdma_write)) {
    return Refuse("efadv_create_qp_ex: these NICs have no inline writes");
  }
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr.pd == nullptr) return EINVAL;
  if (attr.send_cq == nullptr || attr.recv_cq == nullptr || attr.srq != nullptr) return EINVAL;
  const bool with_ops = (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (with_ops && (attr.send_ops_flags & ~OpsOf(device, datagram)) != 0) {
    return Refuse("ibv_create_qp_ex: operations that these NICs do not have (send_ops_flags)");
  }
  const ibv_qp_cap& cap = attr.cap;
  if (cap.max_send_sge > device.max_wr_send_sges || cap.max_recv_sge > device.max_wr_recv_sges ||
      cap.max_send_wr > MaxSendQueueDepth(profile, IsWide(attr, efa, device) ? 128 : 64) ||
      std::uint64_t{cap.max_recv_wr} * std::max(cap.max_recv_sge, 1u) > device.max_rq_depth ||
      cap.max_inline_data > std::max(device.inline_buf_size, device.inline_buf_size_ex)) {
    return EINVAL;
  }
  return 0;
}

// The device's words for it.
QueuePairAttributes AttributesOf(const ibv_qp_init_attr_ex& attr, const QpInitAttr& efa,
                                 const DeviceAttributes& device) {
  QueuePairAttributes made;
  made.type = attr.qp_type == IBV_QPT_UD ? QueuePairType::kUd : QueuePairType::kSrd;
  made.domain = static_cast<Domain*>(attr.pd)->number;
  made.send_ring = QueueOf(attr.send_cq).ring();
  made.receive_ring = QueueOf(attr.recv_cq).ring();
  made.wide = IsWide(attr, efa, device);
  const std::uint32_t sends = std::max({attr.cap.max_send_wr, device.min_sq_depth, 1u});
  made.send_entries = std::bit_ceil(sends);
  made.receive_descriptors =
      std::bit_ceil(std::max(attr.cap.max_recv_wr, 1u) * std::max(attr.cap.max_recv_sge, 1u));
  made.unsolicited_immediates = (efa.flags & kQpUnsolicitedWriteRecv) != 0;
  return made;
}

ibv_qp* Create(ibv_context* ibv, ibv_qp_init_attr_ex& attr, const QpInitAttr& efa) {
  Context& context = ContextOf(ibv);
  const DeviceAttributes& device = context.profile().device;
  if (const int error = Check(attr, efa, context.profile()); error != 0) {
    errno = error;
    return nullptr;
  }
  const Calling lock(context);
  if (const int error = AskPlan(context, fabric::faults::Point::kOpenEndpoint); error != 0) {
    errno = error;
    return nullptr;
  }
  const auto made = context.nic->admin().CreateQueuePair(AttributesOf(attr, efa, device));
  if (!made.ok()) {
    errno = ENOMEM;
    return nullptr;
  }
  ++static_cast<Domain*>(attr.pd)->users;
  (*made)->state = QueuePairState::kInit;
  auto* queue_pair =
      new QueuePair(context, **made, attr, QueueOf(attr.send_cq), QueueOf(attr.recv_cq));
  const std::uint16_t number = (*made)->number;
  if (context.queue_pairs.size() <= number) context.queue_pairs.resize(number + 1u);
  context.queue_pairs[number] = queue_pair;
  TellOpened(queue_pair->opened, context, ObjectKind::kEndpoint);
  attr.cap = queue_pair->cap();
  if (queue_pair->extended()) {
    FillWorkRequestFunctions(*queue_pair, attr.send_ops_flags, efa.wr_flags);
  }
  return &queue_pair->qp_base;
}

// The older structure is the beginning of the newer one.
ibv_qp* CreatePlain(ibv_pd* pd, ibv_qp_init_attr* attr, const QpInitAttr& efa) {
  ibv_qp_init_attr_ex extended{};
  std::memcpy(&extended, attr, sizeof *attr);
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = pd;
  ibv_qp* queue_pair = Create(pd->context, extended, efa);
  if (queue_pair != nullptr) attr->cap = extended.cap;
  return queue_pair;
}

}  // namespace

QueuePair::QueuePair(Context& owner, sim::QueuePair& device_pair, const ibv_qp_init_attr_ex& attr,
                     Queue& sends, Queue& receives)
    : ibv_qp_ex{},
      owner_(owner),
      device_(device_pair),
      sends_(sends),
      receives_(receives),
      cap_(attr.cap),
      extended_((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0),
      all_signalled_(attr.sq_sig_all != 0),
      send_slots_(device_pair.send.entries()),
      // As libefa counts them, whatever segments they have.
      receive_slots_(device_pair.receive.descriptors() / std::max(attr.cap.max_recv_sge, 1u)),
      send_producer_(device_pair.send.entries(), device_pair.send.max_batch()),
      receive_producer_(device_pair.receive.descriptors(), device_pair.receive.descriptors()) {
  functions_.comp_mask = 0;
  functions_.wr_set_processing_hints = nullptr;
  functions_.queue_pair = this;
  cap_.max_send_wr = device_.send.entries();
  cap_.max_recv_wr = device_.receive.descriptors() / std::max(cap_.max_recv_sge, 1u);
  qp_base.context = &owner.handle.verbs.context;
  qp_base.qp_context = attr.qp_context;
  qp_base.pd = attr.pd;
  qp_base.send_cq = attr.send_cq;
  qp_base.recv_cq = attr.recv_cq;
  qp_base.handle = device_.number;
  qp_base.qp_num = device_.number;
  qp_base.state = IBV_QPS_RESET;
  qp_base.qp_type = attr.qp_type;
  pthread_mutex_init(&qp_base.mutex, nullptr);
  pthread_cond_init(&qp_base.cond, nullptr);
}

// ---- Posting ----

int QueuePair::CheckSendDoorbell() const { return rung_sends_.moved ? Refuse(kDriven, EINVAL) : 0; }

int QueuePair::CheckSend(unsigned flags) const {
  if (const int error = CheckSendDoorbell(); error != 0) return error;
  const bool ready = qp_base.state == IBV_QPS_RTS || qp_base.state == IBV_QPS_SQD;
  if (!ready) return EINVAL;
  if (!all_signalled_ && (flags & IBV_SEND_SIGNALED) == 0) {
    return Refuse("ibv_post_send: every request of EFA is signalled", EINVAL);
  }
  if ((flags & ~(IBV_SEND_SIGNALED | IBV_SEND_INLINE)) != 0) {
    return Refuse("ibv_post_send: EFA takes no flags but those of signalled and inline", EINVAL);
  }
  return 0;
}

int QueuePair::PostSend(BuiltWork& made) {
  if (send_slots_.full() || send_producer_.full()) {
    TellAgain(*this, made.work, made.wr_id);
    return ENOMEM;
  }
  if (send_producer_.room() == 0) RingSends();  // a batch is all that the device takes at once
  if (made.work.is_inline) made.work.inline_data = made.inline_data.data();
  made.work.request_id =
      send_slots_.Take(fabric::Context{made.wr_id}, fabric::OperationKind::kSend);
  efa::EncodeSend(made.work, device_.send.format(), send_producer_.phase(),
                  device_.send.Slot(send_producer_.slot()));
  send_producer_.Post();
  if (Trace* trace = TraceOfProcess()) trace->Posted(this, made.work);
  TellPosted(*this, made.work, made.wr_id);
  return 0;
}

int QueuePair::PostReceive(const ibv_recv_wr& request) {
  if (rung_receives_.moved) return Refuse(kDriven, EINVAL);
  const auto segments = static_cast<std::uint32_t>(request.num_sge);
  const bool able = qp_base.state != IBV_QPS_RESET && qp_base.state != IBV_QPS_ERR;
  if (!able || segments > cap_.max_recv_sge) return EINVAL;
  if (receive_slots_.full() || receive_producer_.free() < segments) return ENOMEM;
  if (segments == 0) {  // rdma-core providers/efa/verbs.c, efa_post_recv: no descriptor is written
    SayOnce("ibv_post_recv: a receive without segments is taken, and never ends");
    receive_slots_.Take(fabric::Context{request.wr_id}, fabric::OperationKind::kReceive, 0);
    return 0;
  }
  efa::ReceiveWork work;
  work.segment_count = static_cast<std::uint8_t>(segments);
  for (std::uint32_t i = 0; i < segments; ++i) {
    const ibv_sge& segment = request.sg_list[i];
    work.segments[i] = {.length = segment.length, .lkey = segment.lkey, .address = segment.addr};
  }
  work.request_id = receive_slots_.Take(fabric::Context{request.wr_id},
                                        fabric::OperationKind::kReceive, work.segment_count);
  efa::EncodeReceive(work, device_.receive.memory(), device_.receive.descriptors(),
                     receive_producer_.posted());
  receive_producer_.Post(segments);
  if (Trace* trace = TraceOfProcess()) trace->Posted(this, work);
  TellPosted(*this, work, request.wr_id);
  ++unrung_receives_;
  return 0;
}

void QueuePair::RingSends() {
  if (send_producer_.unannounced() == 0) return;
  if (Trace* trace = TraceOfProcess()) trace->Rang(this, false, send_producer_.unannounced());
  rung_sends_.announced = send_producer_.Ring();
  owner_.nic->RingSend(device_, rung_sends_.announced);
}

void QueuePair::RingReceives() {
  if (receive_producer_.unannounced() == 0) return;
  if (Trace* trace = TraceOfProcess()) trace->Rang(this, true, unrung_receives_);
  unrung_receives_ = 0;
  rung_receives_.announced = receive_producer_.Ring();
  owner_.nic->RingReceive(device_, rung_receives_.announced);
}

// ---- States ----

void QueuePair::Enter(ibv_qp_state state) {
  AdminQueue& admin = owner_.nic->admin();
  qp_base.state = state;
  if (state == IBV_QPS_RESET) return Reset();
  if (state == IBV_QPS_ERR) return admin.FailQueuePair(device_);
  device_.state = state == IBV_QPS_INIT ? QueuePairState::kInit : QueuePairState::kReadyToSend;
  if (state == IBV_QPS_SQD) return admin.DrainQueuePair(device_);
  admin.ResumeQueuePair(device_);
}

// Completions that the program has not read are forgotten as well: libefa would take them for those
// of later requests.
void QueuePair::Reset() {
  Close();
  owner_.nic->admin().ResetQueuePair(device_);
  send_slots_.ReleaseAll();
  receive_slots_.ReleaseAll();
  send_producer_ = {device_.send.entries(), device_.send.max_batch()};
  receive_producer_ = {device_.receive.descriptors(), device_.receive.descriptors()};
  unrung_receives_ = 0;
  told_ready = false;
  if (mapped()) RestartDoorbells();
}

void QueuePair::Close() {
  sends_.Forget(device_.number);
  receives_.Forget(device_.number);
  if (Trace* trace = TraceOfProcess()) trace->Closed(this);
  TellClosing(*this);
}

std::uint64_t QueuePair::Ended(const efa::Completion& entry) {
  const auto id = static_cast<std::uint16_t>(entry.request_id);
  const bool receive = entry.queue != efa::QueueType::kSend;
  const bool ours = (receive ? receive_slots_ : send_slots_).Find(id) != nullptr;
  if (mapped() && !entry.unsolicited && !ours) return id;  // the program's own number
  if (!entry.unsolicited) TellRead(*this, receive, id, static_cast<std::uint8_t>(entry.status));
  if (entry.queue == efa::QueueType::kSend) {
    send_producer_.Complete();
    const RequestSlots::Request* request = send_slots_.Release(id);
    return request == nullptr ? 0 : static_cast<std::uint64_t>(request->context);
  }
  if (entry.unsolicited) return 0;
  const RequestSlots::Request* request = receive_slots_.Release(id);
  if (request == nullptr) return 0;
  receive_producer_.Complete(request->descriptors);
  return static_cast<std::uint64_t>(request->context);
}

void QueuePair::LeaveNic() {
  if (watch_ != 0) owner_.host->Unwatch(std::exchange(watch_, 0));
  owner_.nic->admin().DestroyQueuePair(device_);
}

QueuePair::~QueuePair() {
  for (Counter* counter : counters_) --counter->users;
}

// ---- Creation ----

ibv_qp* CreateQueuePair(ibv_context* context, ibv_qp_init_attr_ex* attr) {
  if (attr->qp_type != IBV_QPT_UD) return RefuseObject(kOnlyUd);
  return Create(context, *attr, QpInitAttr{});
}

QpFunctions* EfaFunctionsOf(ibv_qp_ex* queue_pair) { return &QueuePairOf(queue_pair).functions(); }

}  // namespace drydock::sim::verbs

using drydock::sim::verbs::Calling;
using drydock::sim::verbs::Context;
using drydock::sim::verbs::QpInitAttr;
using drydock::sim::verbs::QueuePair;
using drydock::sim::verbs::QueuePairOf;
using drydock::sim::verbs::Refuse;
using drydock::sim::verbs::RefuseObject;

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  if (attr->qp_type != IBV_QPT_UD) return RefuseObject(drydock::sim::verbs::kOnlyUd);
  return drydock::sim::verbs::CreatePlain(pd, attr, QpInitAttr{});
}

ibv_qp* efadv_create_driver_qp(ibv_pd* pd, ibv_qp_init_attr* attr, std::uint32_t type) {
  if (attr->qp_type != IBV_QPT_DRIVER) {
    errno = EINVAL;
    return nullptr;
  }
  QpInitAttr efa{};
  efa.driver_qp_type = type;
  return drydock::sim::verbs::CreatePlain(pd, attr, efa);
}

ibv_qp* efadv_create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr, efadv_qp_init_attr* efa,
                           std::uint32_t length) {
  QpInitAttr given{};
  std::memcpy(&given, efa, std::min<std::size_t>(length, sizeof given));
  if (given.comp_mask != 0 || given.reserved[0] != 0 ||
      !drydock::sim::verbs::RestIsZero(efa, sizeof given, length)) {
    return RefuseObject("efadv_create_qp_ex: members that rdma-core 65 does not have", EINVAL);
  }
  if (attr->qp_type != IBV_QPT_DRIVER || length < offsetof(QpInitAttr, flags)) {
    errno = EINVAL;
    return nullptr;
  }
  return drydock::sim::verbs::Create(context, *attr, given);
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* queue_pair) {
  QueuePair& ours = QueuePairOf(queue_pair);
  return ours.extended() ? &ours : nullptr;
}

int ibv_modify_qp(ibv_qp* ibv, ibv_qp_attr* attr, int given) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  const auto mask = static_cast<unsigned>(given);
  const Calling lock(queue_pair.owner());
  drydock::sim::QueuePair& device = queue_pair.device();
  if (const int error = drydock::sim::verbs::CheckMove(ibv->qp_type, ibv->state, *attr, mask);
      error != 0) {
    return error;
  }
  if ((mask & IBV_QP_RNR_RETRY) != 0) {
    if (!queue_pair.owner().profile().device.rnr_retry ||
        attr->rnr_retry > drydock::sim::kRetryForEver) {
      return Refuse("ibv_modify_qp: this number of receiver-not-ready retries");
    }
    device.rnr_retries = attr->rnr_retry;
  }
  if ((mask & IBV_QP_SQ_PSN) != 0) queue_pair.sq_psn = attr->sq_psn;
  queue_pair.owner().host->Progress();
  if ((mask & IBV_QP_QKEY) != 0) {
    device.qkey = attr->qkey;
    if (drydock::sim::verbs::Trace* trace = drydock::sim::verbs::TraceOfProcess()) {
      trace->OpenedEndpoint(&queue_pair, *queue_pair.owner().nic, device, &queue_pair.send_queue(),
                            &queue_pair.receive_queue());
    }
    drydock::sim::verbs::TellReady(queue_pair);
    if (queue_pair.driven()) drydock::sim::verbs::TellMapped(queue_pair);
  }
  if ((mask & IBV_QP_STATE) != 0) {
    queue_pair.Enter(attr->qp_state);
  }
  queue_pair.owner().host->Posted();
  return 0;
}

int ibv_query_qp(ibv_qp* ibv, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) {
  constexpr int kKnown = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY |
                         IBV_QP_SQ_PSN | IBV_QP_CAP | IBV_QP_RNR_RETRY;
  if ((mask & ~kKnown) != 0) return Refuse("ibv_query_qp: attributes that EFA does not have");
  QueuePair& queue_pair = QueuePairOf(ibv);
  const Calling lock(queue_pair.owner());
  *attr = {};
  attr->qp_state = ibv->state;
  attr->cur_qp_state = ibv->state;
  attr->qkey = queue_pair.device().qkey;
  attr->sq_psn = queue_pair.sq_psn;
  attr->rnr_retry = static_cast<std::uint8_t>(queue_pair.device().rnr_retries);
  attr->cap = queue_pair.cap();
  attr->port_num = 1;
  *init = {};
  init->qp_context = ibv->qp_context;
  init->send_cq = ibv->send_cq;
  init->recv_cq = ibv->recv_cq;
  init->cap = queue_pair.cap();
  init->qp_type = ibv->qp_type;
  return 0;
}

int ibv_destroy_qp(ibv_qp* ibv) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  Context& context = queue_pair.owner();
  {
    const drydock::sim::verbs::Closing lock(context);
    if (!lock) return EBUSY;
    context.host->Progress();
    const std::uint16_t number = queue_pair.device().number;
    queue_pair.Close();
    context.queue_pairs[number] = nullptr;
    queue_pair.opened.reset();
    queue_pair.LeaveNic();
    --static_cast<drydock::sim::verbs::Domain*>(ibv->pd)->users;
    context.host->Posted();
    delete &queue_pair;
  }
  return 0;
}

// EFA promises no order of a whole message. The order of aligned blocks of 128 bytes, where the
// device has it, is told to callers that ask for all capabilities, whatever operation they name.
int ibv_query_qp_data_in_order(ibv_qp* queue_pair, ibv_wr_opcode /*operation*/,
                               std::uint32_t flags) {
  using namespace drydock::sim::verbs;  // NOLINT(build/namespaces)
  if ((flags & kInOrderReturnCaps) == 0) return 0;
  const drydock::sim::DeviceAttributes& device = QueuePairOf(queue_pair).owner().profile().device;
  return device.data_polling_128 ? static_cast<int>(kInOrderAligned128) : 0;
}

}  // extern "C"
