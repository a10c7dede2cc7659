#include "drydock/sim/verbs/completion_queue.h"

#include <endian.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/sim/verbs/completion_channel.h"
#include "drydock/sim/verbs/queue_pair.h"
#include "drydock/sim/verbs/refusal.h"
#include "drydock/sim/verbs/wc_status.h"

namespace drydock::sim::verbs {

namespace efa = fabric::efa_queue;

namespace {

void Translate(const efa::Completion& entry, std::uint64_t wr_id, bool with_source,
               WorkCompletion& completion) {
  const bool receive = entry.queue == efa::QueueType::kReceive;
  const bool write = entry.operation == efa::Operation::kWrite;
  completion = {};
  completion.wr_id = wr_id;
  completion.vendor_error = static_cast<std::uint8_t>(entry.status);
  completion.status = WcStatusOf(completion.vendor_error);
  // libefa does not tell a read from a send (linux-rdma/rdma-core providers/efa/verbs.c).
  completion.opcode = receive ? (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV)
                              : (write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
  completion.byte_len = entry.length;
  completion.immediate = htobe32(entry.immediate);
  completion.flags = entry.has_immediate ? IBV_WC_WITH_IMM : 0;
  completion.queue_pair = entry.queue_pair;
  completion.source_queue_pair = entry.source_queue_pair;
  completion.source_handle = entry.address_handle;
  completion.unsolicited = entry.unsolicited;
  static_assert(sizeof entry.source_gid == sizeof completion.source_gid);
  if (!with_source) return;
  std::memcpy(completion.source_gid.data(), entry.source_gid, sizeof entry.source_gid);
}

// ---- An extended poll ----

int TakeNext(Queue& queue) {
  if (!queue.Take(queue.current)) return ENOENT;
  queue.status = queue.current.status;
  queue.wr_id = queue.current.wr_id;
  return 0;
}

int StartPoll(ibv_cq_ex* ibv, ibv_poll_cq_attr* attr) {
  if (attr->comp_mask != 0) return EINVAL;
  Queue& queue = QueueOf(ibv);
  queue.BeginPoll();
  int result;
  {
    const Calling lock(queue.owner());
    queue.owner().host->Progress();
    TellPolling(queue);
    result = TakeNext(queue);
  }
  if (result == 0) {
    queue.FoundSomething();
  } else {
    queue.FoundNothing();
    queue.EndPoll();
  }
  return result;
}

int NextPoll(ibv_cq_ex* ibv) {
  Queue& queue = QueueOf(ibv);
  const Calling lock(queue.owner());
  return TakeNext(queue);
}

void EndPoll(ibv_cq_ex* ibv) {
  Queue& queue = QueueOf(ibv);
  if (queue.has_told()) {
    const Calling lock(queue.owner());
    queue.TellPolled();
  }
  queue.EndPoll();
}

const WorkCompletion& Current(ibv_cq_ex* ibv) { return QueueOf(ibv).current; }
const WorkCompletion& Current(efadv_cq* functions) {
  return Current(reinterpret_cast<QueueFunctions*>(functions)->queue);
}

int ReadSourceGid(efadv_cq* functions, ibv_gid* gid) {
  const WorkCompletion& completion = Current(functions);
  // Negative, as in libefa: libfabric looks for that.
  if (completion.source_gid == Gid{}) return -ENOENT;
  std::copy(completion.source_gid.begin(), completion.source_gid.end(), gid->raw);
  return 0;
}

// Of what a completion tells, a program can read what it asked for when it created the queue: the
// other functions are null, as in libefa (rdma-core providers/efa/verbs.c, efa_cq_fill_pfns).
void FillReadFunctions(ibv_cq_ex& queue, std::uint64_t flags) {
  queue.start_poll = StartPoll;
  queue.next_poll = NextPoll;
  queue.end_poll = EndPoll;
  queue.read_opcode = [](ibv_cq_ex* cq) { return Current(cq).opcode; };
  queue.read_vendor_err = [](ibv_cq_ex* cq) { return std::uint32_t{Current(cq).vendor_error}; };
  queue.read_wc_flags = [](ibv_cq_ex* cq) { return Current(cq).flags; };
  const auto asked = [flags](std::uint64_t flag) { return (flags & flag) != 0; };
  if (asked(IBV_WC_EX_WITH_BYTE_LEN)) {
    queue.read_byte_len = [](ibv_cq_ex* cq) { return Current(cq).byte_len; };
  }
  if (asked(IBV_WC_EX_WITH_IMM)) {
    queue.read_imm_data = [](ibv_cq_ex* cq) { return Current(cq).immediate; };
  }
  if (asked(IBV_WC_EX_WITH_QP_NUM)) {
    queue.read_qp_num = [](ibv_cq_ex* cq) { return std::uint32_t{Current(cq).queue_pair}; };
  }
  if (asked(IBV_WC_EX_WITH_SRC_QP)) {
    queue.read_src_qp = [](ibv_cq_ex* cq) { return std::uint32_t{Current(cq).source_queue_pair}; };
  }
  if (asked(IBV_WC_EX_WITH_SLID)) {
    queue.read_slid = [](ibv_cq_ex* cq) { return std::uint32_t{Current(cq).source_handle}; };
  }
  if (asked(IBV_WC_EX_WITH_SL)) queue.read_sl = [](ibv_cq_ex*) { return std::uint8_t{0}; };
  if (asked(IBV_WC_EX_WITH_DLID_PATH_BITS)) {
    queue.read_dlid_path_bits = [](ibv_cq_ex*) { return std::uint8_t{0}; };
  }
}

// ---- Creation ----

constexpr std::uint64_t kKnownWcFlags = IBV_WC_STANDARD_FLAGS;
constexpr std::uint64_t kCqeBytes = 32;

std::nullptr_t Fail(int error) {
  errno = error;
  return nullptr;
}

ibv_cq_ex* Create(ibv_context* ibv, const ibv_cq_init_attr_ex& attr, const CqInitAttr& efa) {
  Context& context = ContextOf(ibv);
  const DeviceAttributes& device = context.profile().device;
  constexpr std::uint32_t kKnownMembers = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  if ((attr.comp_mask & ~kKnownMembers) != 0) {
    return RefuseObject("ibv_create_cq_ex: members EFA does not have");
  }
  // That one thread polls is no secret worth using: polls are serialised anyway.
  const bool with_flags = (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  if (with_flags && (attr.flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0) {
    return RefuseObject("ibv_create_cq_ex: EFA's queues can be of one thread, and nothing more");
  }
  Domain* parent = nullptr;
  if ((attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) {
    parent = static_cast<Domain*>(attr.parent_domain);
    if (parent == nullptr || parent->protection == nullptr) return Fail(EINVAL);
  }
  if ((attr.wc_flags & ~kKnownWcFlags) != 0) {
    return RefuseObject("ibv_create_cq_ex: completions of EFA do not tell that (wc_flags)");
  }
  const std::uint64_t known =
      kCqWithSgid | (device.unsolicited_write_recv ? kCqWithIsUnsolicited : 0);
  if ((efa.wc_flags & ~known) != 0) {
    return RefuseObject("efadv_create_cq: wc_flags that these NICs do not have");
  }
  if ((efa.flags & ~kCqExtMemDmabuf) != 0) return RefuseObject("efadv_create_cq: unknown flags");
  if (attr.cqe == 0 || attr.cqe > device.max_cq_depth ||
      attr.comp_vector >= device.num_comp_vectors) {
    return Fail(EINVAL);
  }
  const Calling lock(context);
  if (const int error = AskPlan(context, fabric::faults::Point::kOpenCompletionQueue); error != 0) {
    return Fail(error);
  }
  const std::uint32_t depth = std::bit_ceil(attr.cqe);
  ExternalMemory memory;
  if ((efa.flags & kCqExtMemDmabuf) != 0) {
    const auto& where = efa.ext_mem_dmabuf;
    if (const int error = memory.Map(where.fd, where.offset, where.length, depth * kCqeBytes);
        error != 0) {
      if (error != EOPNOTSUPP) return Fail(error);
      return RefuseObject("efadv_create_cq: the host cannot reach the memory behind this dmabuf");
    }
  }
  auto ring =
      context.nic->admin().CreateCompletionRing(depth, memory.data(), attr.channel != nullptr);
  if (!ring.ok()) return Fail(ENOMEM);
  auto* queue = new Queue(context, *std::move(ring), attr, parent, efa.wc_flags, std::move(memory));
  if (Trace* trace = TraceOfProcess()) trace->OpenedQueue(queue, *context.nic, depth);
  context.queues.insert(queue);
  TellOpened(queue->opened, context, ObjectKind::kCompletionQueue);
  TellQueueOpened(*queue);
  return queue;
}

}  // namespace

Queue::Queue(Context& owner, std::shared_ptr<CompletionRing> ring, const ibv_cq_init_attr_ex& attr,
             Domain* parent, std::uint64_t efa_flags, ExternalMemory memory)
    : ibv_cq_ex{},
      owner_(owner),
      parent_(parent),
      single_((attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
              (attr.flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0),
      memory_(std::move(memory)),
      ring_(std::move(ring)),
      with_source_((efa_flags & kCqWithSgid) != 0) {
  context = &owner.handle.verbs.context;
  channel = attr.channel;
  cq_context = attr.cq_context;
  cqe = static_cast<int>(ring_->depth());
  pthread_mutex_init(&mutex, nullptr);
  pthread_cond_init(&cond, nullptr);
  FillReadFunctions(*this, attr.wc_flags);
  functions_.comp_mask = 0;
  if (with_source_) functions_.wc_read_sgid = ReadSourceGid;
  if ((efa_flags & kCqWithIsUnsolicited) != 0) {
    functions_.wc_is_unsolicited = [](efadv_cq* cq) { return Current(cq).unsolicited; };
  }
  functions_.queue = this;
  if (channel != nullptr) ++channel->refcnt;
  if (parent_ != nullptr) ++parent_->users;
}

Queue::~Queue() { LetGo(); }

void Queue::LeaveToItsReader() {
  static auto& left = *new std::vector<Queue*>;
  left.push_back(this);
  LetGo();
}

void Queue::LetGo() {
  if (watch_ != 0) owner_.host->Unwatch(std::exchange(watch_, 0));
  if (parent_ != nullptr) --std::exchange(parent_, nullptr)->users;
}

void Queue::FoundNothing() {
  constexpr std::uint32_t kPatience = 64;
  if (in_vain_ < kPatience && !owner_.host->in_virtual_time()) {
    ++in_vain_;
  } else {
    sched_yield();
  }
}

bool Queue::TakeFromRing(efa::Completion& entry) {
  while (const void* slot = ring_->Peek()) {
    const bool sound = efa::DecodeCompletion(slot, efa::CqeSize::k32, ring_->phase(), entry) ==
                       efa::Malformed::kNone;
    ring_->Pop();
    if (sound && owner_.Find(entry.queue_pair) != nullptr) return true;
  }
  return false;
}

void Queue::Tell(const efa::Completion& entry, WorkCompletion& completion) {
  QueuePair* queue_pair = owner_.Find(entry.queue_pair);
  Trace* const trace = TraceOfProcess();
  const std::uint64_t operation = trace == nullptr ? 0 : trace->Ended(queue_pair, entry);
  Translate(entry, queue_pair->Ended(entry), with_source_, completion);
  completion.operation = operation;
}

bool Queue::Take(WorkCompletion& completion) {
  efa::Completion entry;
  if (kept_.empty()) {
    if (!TakeFromRing(entry)) return false;
  } else {
    entry = kept_.front();
    kept_.pop_front();
  }
  Tell(entry, completion);
  if (TraceOfProcess() != nullptr) told_.push_back({completion.operation, completion.vendor_error});
  return true;
}

void Queue::TellPolled() {
  if (Trace* trace = TraceOfProcess()) trace->Polled(this, told_);
  told_.clear();
}

// The slots of the others stay taken until the program reads their entries.
void Queue::Forget(std::uint16_t queue_pair) {
  if (ring_->mapped()) return;  // the program reads it where it is
  efa::Completion taken;
  while (TakeFromRing(taken)) kept_.push_back(taken);
  std::erase_if(kept_, [&](const efa::Completion& entry) {
    if (entry.queue_pair != queue_pair) return false;
    WorkCompletion completion;
    Tell(entry, completion);
    dropped_ = dropped_ || completion.status != IBV_WC_WR_FLUSH_ERR;
    return true;
  });
}

bool Queue::has_unread() const { return dropped_ || !kept_.empty() || !ring_->empty(); }

ibv_cq_ex* CreateExtendedQueue(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  return Create(context, *attr, CqInitAttr{});
}

int PollQueue(ibv_cq* ibv, int count, ibv_wc* entries) {
  Queue& queue = QueueOf(ibv);
  queue.BeginPoll();
  int taken = 0;
  {
    const Calling lock(queue.owner());
    queue.owner().host->Progress();
    TellPolling(queue);
    WorkCompletion completion;
    for (; taken < count && queue.Take(completion); ++taken) {
      ibv_wc& entry = entries[taken];
      entry = {};
      entry.wr_id = completion.wr_id;
      entry.status = completion.status;
      entry.opcode = completion.opcode;
      entry.vendor_err = completion.vendor_error;
      entry.byte_len = completion.byte_len;
      entry.imm_data = completion.immediate;
      entry.qp_num = completion.queue_pair;
      entry.src_qp = completion.source_queue_pair;
      entry.wc_flags = completion.flags;
      entry.slid = completion.source_handle;
    }
    if (queue.has_told()) queue.TellPolled();
  }
  if (taken > 0) {
    queue.FoundSomething();
  } else {
    queue.FoundNothing();
  }
  queue.EndPoll();
  return taken;
}

int RequestEvent(ibv_cq* ibv, int solicited_only) {
  if (solicited_only != 0) return Refuse("ibv_req_notify_cq: EFA has no solicited events");
  Queue& queue = QueueOf(ibv);
  if (queue.channel == nullptr) return EINVAL;
  const Calling lock(queue.owner());
  queue.ring()->Arm();
  Await(queue);
  queue.owner().host->Kick();
  return 0;
}

}  // namespace drydock::sim::verbs

using drydock::sim::verbs::Calling;
using drydock::sim::verbs::Context;
using drydock::sim::verbs::Queue;
using drydock::sim::verbs::QueueOf;

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int count, void* cq_context, ibv_comp_channel* channel,
                      int vector) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = static_cast<std::uint32_t>(std::max(count, 0));
  attr.cq_context = cq_context;
  attr.channel = channel;
  attr.comp_vector = static_cast<std::uint32_t>(vector);
  return reinterpret_cast<ibv_cq*>(drydock::sim::verbs::CreateExtendedQueue(context, &attr));
}

ibv_cq_ex* efadv_create_cq(ibv_context* context, ibv_cq_init_attr_ex* attr, efadv_cq_init_attr* efa,
                           std::uint32_t length) {
  // As it was when it came: a mask and flags.
  constexpr std::uint32_t kShortest = offsetof(drydock::sim::verbs::CqInitAttr, flags);
  drydock::sim::verbs::CqInitAttr given{};
  std::memcpy(&given, efa, std::min<std::size_t>(length, sizeof given));
  if (given.comp_mask != 0 || !drydock::sim::verbs::RestIsZero(efa, sizeof given, length)) {
    return drydock::sim::verbs::RefuseObject(
        "efadv_create_cq: members that rdma-core 65 does not have", EINVAL);
  }
  if (length < kShortest) {
    errno = EINVAL;
    return nullptr;
  }
  return drydock::sim::verbs::Create(context, *attr, given);
}

efadv_cq* efadv_cq_from_ibv_cq_ex(ibv_cq_ex* queue) {
  drydock::sim::verbs::CqFunctions& functions = QueueOf(queue).functions();
  return reinterpret_cast<efadv_cq*>(&functions);
}

int ibv_destroy_cq(ibv_cq* ibv) {
  Queue& queue = QueueOf(ibv);
  {
    const drydock::sim::verbs::Closing lock(queue.owner());
    if (!lock) return EBUSY;
    for (const drydock::sim::verbs::QueuePair* user : queue.owner().queue_pairs) {
      if (user == nullptr) continue;
      if (&user->send_queue() != &queue && &user->receive_queue() != &queue) continue;
      drydock::sim::verbs::TellBusy(queue.opened);
      return EBUSY;
    }
    drydock::sim::verbs::Abandon(queue);
  }
  const std::uint32_t unacknowledged = drydock::sim::verbs::Unacknowledged(queue);
  {
    const drydock::sim::verbs::Closing lock(queue.owner());
    if (!lock) {
      queue.closing = false;  // it lives on
      return EBUSY;
    }
    if (drydock::sim::verbs::Trace* trace = drydock::sim::verbs::TraceOfProcess())
      trace->Closed(&queue);
    drydock::sim::verbs::TellQueueClosing(queue, unacknowledged);
    queue.opened.reset();
    queue.owner().queues.erase(&queue);
    queue.owner().nic->admin().DestroyCompletionRing();
    if (queue.channel != nullptr) --queue.channel->refcnt;
    if (unacknowledged == 0) {
      delete &queue;
    } else {
      queue.LeaveToItsReader();
    }
  }
  return 0;
}

}  // extern "C"
