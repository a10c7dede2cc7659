#include "drydock/sim/verbs/completion_counter.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/page_rights.h"
#include "drydock/sim/verbs/queue_pair.h"
#include "drydock/sim/verbs/refusal.h"

namespace drydock::sim::verbs {
namespace {

constexpr char kNone[] = "ibv_create_comp_cntr: these NICs have no completion counters";
constexpr char kUnread[] =
    "ibv_read_comp_cntr: the count is in a dmabuf of which no address was given";

struct CountedOperation {
  std::uint32_t bit;
  CounterKind kind;
};
constexpr CountedOperation kOperations[] = {
    {kCountSends, CounterKind::kSends},   {kCountReceives, CounterKind::kReceives},
    {kCountReads, CounterKind::kReads},   {kCountRemoteReads, CounterKind::kRemoteReads},
    {kCountWrites, CounterKind::kWrites}, {kCountRemoteWrites, CounterKind::kRemoteWrites},
};

std::uint32_t OperationsOf(const DeviceAttributes& device) {
  return kCountSends | kCountReceives | (device.rdma_read ? kCountReads | kCountRemoteReads : 0) |
         (device.rdma_write ? kCountWrites | kCountRemoteWrites : 0);
}

// 0, or an errno.
int Locate(const MemoryLocation& where, CounterPlace& place) {
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  if (where.type == kMemoryInDmabuf) {
    if (const int error = place.dmabuf.Map(where.dmabuf.fd, where.dmabuf.offset, kBytes, kBytes);
        error != 0) {
      return error == EOPNOTSUPP
                 ? Refuse("efadv_create_comp_cntr: the host cannot reach the memory of this dmabuf")
                 : error;
    }
    place.word = reinterpret_cast<std::uint64_t*>(place.dmabuf.data());
    place.readable = where.ptr != nullptr;
    return 0;
  }
  if (where.ptr == nullptr) return EINVAL;
  if (reinterpret_cast<std::uintptr_t>(where.ptr) % kBytes != 0) return EINVAL;
  if (!MayBePinned(where.ptr, kBytes, true)) return EFAULT;
  place.word = reinterpret_cast<std::uint64_t*>(where.ptr);
  return 0;
}

// How the device writes a number: a thread that waits for it sees all that was written before.
void Store(const CounterPlace& place, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(*place.word).store(value, std::memory_order_release);
}

CompCntr* Fail(int error) {
  errno = error;
  return nullptr;
}

CompCntr* Create(ibv_context* ibv, const CompCntrInitAttr& attr, const EfaCompCntrInitAttr& efa) {
  Context& context = ContextOf(ibv);
  const DeviceAttributes& device = context.profile().device;
  if (device.max_comp_cntr == 0) return RefuseObject(kNone);
  if (attr.type != kCountWorkRequests) {
    return RefuseObject("ibv_create_comp_cntr: EFA counts work requests, no bytes");
  }
  if (attr.comp_mask != 0 || attr.flags != 0) {
    return RefuseObject("ibv_create_comp_cntr: unknown members or flags");
  }
  constexpr std::uint32_t kKnown = kCompInExternalMemory | kErrInExternalMemory;
  if (efa.comp_mask != 0 || (efa.flags & ~kKnown) != 0) {
    return RefuseObject("efadv_create_comp_cntr: unknown members or flags");
  }
  for (const MemoryLocation* where : {&efa.comp_cntr_ext_mem, &efa.err_cntr_ext_mem}) {
    if (where->type != kMemoryAtAddress && where->type != kMemoryInDmabuf) {
      return RefuseObject("efadv_create_comp_cntr: memory of an unknown type");
    }
  }
  const Calling lock(context);
  auto counter = std::make_unique<Counter>(context);
  int error = 0;
  if ((efa.flags & kCompInExternalMemory) != 0) {
    error = Locate(efa.comp_cntr_ext_mem, counter->successes);
  }
  if (error == 0 && (efa.flags & kErrInExternalMemory) != 0) {
    error = Locate(efa.err_cntr_ext_mem, counter->failures);
  }
  if (error != 0) return Fail(error);
  auto core = context.nic->admin().CreateCounter();
  if (!core.ok()) return Fail(ENOMEM);
  ++context.counters;
  counter->core = *std::move(core);
  // Each number has its word: the other one is not touched.
  counter->core->changed = [places = counter.get()](std::uint64_t CounterCore::*number) {
    const CounterCore& numbers = *places->core;
    if (number == &CounterCore::value) {
      Store(places->successes, numbers.value);
    } else {
      Store(places->failures, numbers.errors);
    }
  };
  counter->context = ibv;
  counter->comp_count_max_value = counter->core->max_value;
  counter->err_count_max_value = counter->core->max_value;
  return counter.release();
}

// Changes one of the numbers of a counter as `change` says.
template <typename Change>
int Modify(CompCntr* handle, std::uint64_t CounterCore::*number, Change change) {
  auto& counter = *static_cast<Counter*>(handle);
  const Calling lock(counter.owner);
  counter.owner.host->Progress();
  CounterCore& core = *counter.core;
  core.Put(number, change(core.*number));
  return 0;
}

int Read(CompCntr* handle, const CounterPlace Counter::*place, std::uint64_t* value) {
  auto& counter = *static_cast<Counter*>(handle);
  const Calling lock(counter.owner);
  counter.owner.host->Progress();
  if (!(counter.*place).readable) return Refuse(kUnread);
  *value = std::atomic_ref<std::uint64_t>(*(counter.*place).word).load(std::memory_order_acquire);
  return 0;
}

}  // namespace

int QueryCounterCaps(ibv_context* context, CompCntrCaps* caps, std::size_t bytes) {
  const DeviceAttributes& device = ContextOf(context).profile().device;
  CompCntrCaps filled{};
  // libfabric asks at its start: a device without any has none.
  if (device.max_comp_cntr > 0) {
    filled.max_value = device.comp_cntr_max_value;
    filled.max_counters = device.max_comp_cntr;
    filled.supported_qp_attach_ops = OperationsOf(device);
  }
  std::memset(caps, 0, bytes);
  std::memcpy(caps, &filled, std::min(bytes, sizeof filled));
  return 0;
}

CompCntr* CreateCounter(ibv_context* context, CompCntrInitAttr* attr) {
  return Create(context, *attr, {});
}

CompCntr* CreateEfaCounter(ibv_context* context, CompCntrInitAttr* attr, EfaCompCntrInitAttr* efa,
                           std::uint32_t length) {
  if (efa == nullptr || length < sizeof *efa || efa->reserved != 0 ||
      !RestIsZero(efa, sizeof *efa, length)) {
    return RefuseObject("efadv_create_comp_cntr: a structure that is not rdma-core 65's", EINVAL);
  }
  return Create(context, *attr, *efa);
}

int DestroyCounter(CompCntr* handle) {
  auto* counter = static_cast<Counter*>(handle);
  Context& context = counter->owner;
  const Closing lock(context);
  if (!lock || counter->users > 0) return EBUSY;
  context.nic->admin().DestroyCounter();
  --context.counters;
  delete counter;
  return 0;
}

int SetCounter(CompCntr* counter, std::uint64_t value) {
  return Modify(counter, &CounterCore::value, [value](std::uint64_t) { return value; });
}
int SetErrorCounter(CompCntr* counter, std::uint64_t value) {
  return Modify(counter, &CounterCore::errors, [value](std::uint64_t) { return value; });
}
int AddToCounter(CompCntr* counter, std::uint64_t amount) {
  return Modify(counter, &CounterCore::value, [amount](std::uint64_t was) { return was + amount; });
}
int AddToErrorCounter(CompCntr* counter, std::uint64_t amount) {
  return Modify(counter, &CounterCore::errors,
                [amount](std::uint64_t was) { return was + amount; });
}

int ReadCounter(CompCntr* counter, std::uint64_t* value) {
  return Read(counter, &Counter::successes, value);
}
int ReadErrorCounter(CompCntr* counter, std::uint64_t* value) {
  return Read(counter, &Counter::failures, value);
}

int AttachCounter(ibv_qp* ibv, CompCntr* handle, AttachCompCntrAttr* attr) {
  QueuePair& queue_pair = QueuePairOf(ibv);
  const DeviceAttributes& device = queue_pair.owner().profile().device;
  if (device.max_comp_cntr == 0) return Refuse(kNone);
  if (attr->comp_mask != 0 || attr->op_mask == 0) return EINVAL;
  if ((attr->op_mask & ~OperationsOf(device)) != 0) {
    return Refuse("ibv_qp_attach_comp_cntr: operations that these NICs do not count");
  }
  const Calling lock(queue_pair.owner());
  if (ibv->state != IBV_QPS_RESET && ibv->state != IBV_QPS_INIT) return EINVAL;
  auto& counter = *static_cast<Counter*>(handle);
  if (&counter.owner != &queue_pair.owner()) return EINVAL;
  return queue_pair.Attach(counter, attr->op_mask);
}

int QueuePair::Attach(Counter& counter, std::uint32_t operations) {
  if ((counted_ & operations) != 0) return EBUSY;
  for (const CountedOperation& operation : kOperations) {
    if ((operations & operation.bit) == 0) continue;
    device_.counters[static_cast<std::size_t>(operation.kind)] = counter.core;
  }
  counted_ |= operations;
  counters_.push_back(&counter);
  ++counter.users;
  return 0;
}

}  // namespace drydock::sim::verbs
