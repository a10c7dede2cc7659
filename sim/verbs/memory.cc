// Protection domains, memory regions, address handles.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "sim/verbs/machine.h"
#include "sim/verbs/newer_functions.h"
#include "sim/verbs/objects.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace sim::verbs {
namespace {

using fabric::Access;
using fabric::faults::Point;

constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_OPTIONAL_RANGE;

// Whatever is registered may be read by its own device.
Access AccessOf(unsigned flags) {
  Access access = Access::kSend | Access::kWrite;
  if ((flags & IBV_ACCESS_LOCAL_WRITE) != 0) access = access | Access::kReceive | Access::kRead;
  if ((flags & IBV_ACCESS_REMOTE_WRITE) != 0) access = access | Access::kRemoteWrite;
  if ((flags & IBV_ACCESS_REMOTE_READ) != 0) access = access | Access::kRemoteRead;
  return access;
}

// Whether every page of the range is this process's: a kernel would have to pin them.
bool IsMapped(const void* address, std::size_t length) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(address) + length;
  constexpr std::size_t kAtOnce = 4096;
  std::vector<unsigned char> resident(kAtOnce);
  for (std::uintptr_t at = begin; at < end; at += kAtOnce * page) {
    const std::size_t bytes = std::min<std::size_t>(end - at, kAtOnce * page);
    if (mincore(reinterpret_cast<void*>(at), bytes, resident.data()) != 0) return false;
  }
  return true;
}

ibv_mr* Fail(int error) {
  errno = error;
  return nullptr;
}

}  // namespace

// `iova` is what peers and work requests call the memory; here it is always its address.
ibv_mr* Register(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                 unsigned access) {
  if (length == 0 || reinterpret_cast<std::uintptr_t>(address) + length < length) {
    return Fail(EINVAL);
  }
  if ((access & ~kKnownAccess) != 0 || iova != reinterpret_cast<std::uintptr_t>(address)) {
    return Fail(EOPNOTSUPP);
  }
  if (!IsMapped(address, length)) return Fail(EFAULT);
  Context& context = ContextOf(pd->context);
  const Calling lock(context);
  if (const int error = AskPlan(context, Point::kRegisterMemory); error != 0) return Fail(error);
  const auto keys = context.nic->admin().RegisterMemory(
      static_cast<Domain*>(pd)->number, static_cast<std::byte*>(address), length, AccessOf(access));
  if (!keys.ok()) return Fail(absl::IsInvalidArgument(keys.status()) ? EINVAL : ENOMEM);
  ++static_cast<Domain*>(pd)->users;
  auto* region = new ibv_mr{};
  region->context = pd->context;
  region->pd = pd;
  region->addr = address;
  region->length = length;
  region->lkey = keys->local;
  region->rkey = keys->remote;
  if (Trace* trace = TraceOfProcess()) {
    trace->OpenedRegion(region, *context.nic,
                        {.address = iova,
                         .length = length,
                         .local_key = keys->local,
                         .remote_key = keys->remote,
                         .access = AccessOf(access)});
  }
  return region;
}

// Nothing is known of interconnects here.
int QueryEfaRegion(ibv_mr*, MrAttr* attr, std::uint32_t length) {
  if (length < sizeof *attr) return EINVAL;
  *attr = {};
  return 0;
}

}  // namespace sim::verbs

using namespace sim::verbs;  // NOLINT(build/namespaces)

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* ibv) {
  Context& context = ContextOf(ibv);
  const Calling lock(context);
  if (const int error = AskPlan(context, Point::kOpenDomain); error != 0) {
    errno = error;
    return nullptr;
  }
  const auto number = context.nic->admin().AllocateDomain();
  if (!number.ok()) {
    errno = ENOMEM;
    return nullptr;
  }
  auto* domain = new Domain;
  domain->context = ibv;
  domain->ibv_pd::handle = *number;
  domain->number = *number;
  return domain;
}

int ibv_dealloc_pd(ibv_pd* pd) {
  Context& context = ContextOf(pd->context);
  auto* domain = static_cast<Domain*>(pd);
  {
    const Closing lock(context);
    if (!lock || domain->users > 0) return EBUSY;
    context.nic->admin().FreeDomain(domain->number);
  }
  delete domain;
  return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return Register(pd, address, length, reinterpret_cast<std::uintptr_t>(address),
                  static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        int access) {
  return Register(pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  return Register(pd, address, length, iova, access);
}

// Memory of a device that can be reached by the host at `iova`, as the stand-ins for GPUs can; what
// only the device itself can touch is refused.
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t, std::size_t length, std::uint64_t iova, int fd,
                          int access) {
  if (fcntl(fd, F_GETFD) < 0) {
    errno = EBADF;
    return nullptr;
  }
  auto* address = reinterpret_cast<void*>(iova);
  if (length == 0 || !IsMapped(address, length)) {
    Say("ibv_reg_dmabuf_mr: the host cannot reach this memory, and neither can a simulated NIC");
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return Register(pd, address, length, iova, static_cast<unsigned>(access));
}

int ibv_dereg_mr(ibv_mr* ibv) {
  Context& context = ContextOf(ibv->context);
  {
    const Closing lock(context);
    if (!lock) return EBUSY;
    context.nic->admin().DeregisterMemory(ibv->rkey);
    if (Trace* trace = TraceOfProcess()) trace->Closed(ibv);
    --static_cast<Domain*>(ibv->pd)->users;
  }
  delete ibv;
  return 0;
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (attr->is_global == 0 || attr->port_num != 1) {
    errno = EINVAL;
    return nullptr;
  }
  Context& context = ContextOf(pd->context);
  const Calling lock(context);
  sim::Gid gid{};
  std::copy(std::begin(attr->grh.dgid.raw), std::end(attr->grh.dgid.raw), gid.begin());
  const auto number =
      context.nic->admin().CreateAddressHandle(static_cast<Domain*>(pd)->number, gid);
  if (!number.ok()) {
    errno = ENOMEM;
    return nullptr;
  }
  if (Trace* trace = TraceOfProcess()) trace->NamedPeer(*context.nic, *number, gid);
  ++static_cast<Domain*>(pd)->users;
  auto* handle = new AddressHandle;
  handle->context = pd->context;
  handle->pd = pd;
  handle->ibv_ah::handle = *number;
  handle->number = *number;
  return handle;
}

int ibv_destroy_ah(ibv_ah* ah) {
  Context& context = ContextOf(ah->context);
  auto* handle = static_cast<AddressHandle*>(ah);
  {
    const Closing lock(context);
    if (!lock) return EBUSY;
    context.host->Progress();
    context.nic->admin().DestroyAddressHandle(handle->number);
    --static_cast<Domain*>(handle->pd)->users;
    context.host->Posted();
  }
  delete handle;
  return 0;
}

int efadv_query_ah(ibv_ah* ah, efadv_ah_attr* attr, std::uint32_t length) {
  if (length < offsetof(efadv_ah_attr, ahn) + sizeof attr->ahn) return EINVAL;
  attr->comp_mask = 0;
  attr->ahn = static_cast<AddressHandle*>(ah)->number;
  return 0;
}

}  // extern "C"
