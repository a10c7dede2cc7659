// Protection domains, memory regions, address handles.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <string_view>

#include "drydock/sim/verbs/lost_memory.h"
#include "drydock/sim/verbs/machine.h"
#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/objects.h"
#include "drydock/sim/verbs/page_rights.h"
#include "drydock/sim/verbs/refusal.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace drydock::sim::verbs {
namespace {

using fabric::Access;
using fabric::faults::Point;

constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_OPTIONAL_RANGE;

// All registered memory may be read by its own device.
Access AccessOf(unsigned flags) {
  Access access = Access::kSend | Access::kWrite;
  if ((flags & IBV_ACCESS_LOCAL_WRITE) != 0) access = access | Access::kReceive | Access::kRead;
  if ((flags & IBV_ACCESS_REMOTE_WRITE) != 0) access = access | Access::kRemoteWrite;
  if ((flags & IBV_ACCESS_REMOTE_READ) != 0) access = access | Access::kRemoteRead;
  return access;
}

std::nullptr_t Fail(int error) {
  errno = error;
  return nullptr;
}

}  // namespace

// `iova` is the memory's address for peers and work requests; here it must be its own.
ibv_mr* Register(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                 unsigned access) {
  // The second as in linux-rdma drivers/infiniband/core/umem.c, ib_umem_get.
  if (length == 0 || !HasAllItsPages(address, length)) return Fail(EINVAL);
  if ((access & ~kKnownAccess) != 0) {
    return RefuseObject("ibv_reg_mr: rights that EFA does not have (atomics, paging on demand...)");
  }
  // linux-rdma include/rdma/ib_verbs.h, ib_check_mr_access: as for every device.
  if ((access & IBV_ACCESS_REMOTE_WRITE) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return Fail(EINVAL);
  }
  Context& context = ContextOf(pd->context);
  // linux-rdma drivers/infiniband/hw/efa/efa_verbs.c: the rights that a device does not have.
  const DeviceAttributes& device = context.profile().device;
  if (((access & IBV_ACCESS_REMOTE_READ) != 0 && !device.rdma_read) ||
      ((access & IBV_ACCESS_REMOTE_WRITE) != 0 && !device.rdma_write)) {
    return RefuseObject("ibv_reg_mr: peers of these NICs cannot read or write memory");
  }
  if (iova != reinterpret_cast<std::uintptr_t>(address)) {
    return RefuseObject("ibv_reg_mr_iova: peers can only name memory by its own address here");
  }
  // linux-rdma drivers/infiniband/core/umem.c: the right to write is checked for every page.
  constexpr unsigned kWriting = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  if (!MayBePinned(address, length, (access & kWriting) != 0)) return Fail(EFAULT);
  const Calling lock(context);
  if (const int error = AskPlan(context, Point::kRegisterMemory); error != 0) return Fail(error);
  const auto keys = context.nic->admin().RegisterMemory(
      static_cast<Domain*>(pd)->number, static_cast<std::byte*>(address), length, AccessOf(access),
      PageBytesOf(address, length));
  if (!keys.ok()) return Fail(absl::IsInvalidArgument(keys.status()) ? EINVAL : ENOMEM);
  ++static_cast<Domain*>(pd)->users;
  context.regions.insert(keys->remote);
  RememberRegion(context.nic->index(), keys->remote, address, length);
  auto* region = new MemoryRegion{};
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
  TellOpened(region->opened, context, ObjectKind::kMemoryRegion);
  return region;
}

// ---- Domains ----

ibv_td* AllocateThreadDomain(ibv_context* context, ibv_td_init_attr* attr) {
  if (attr->comp_mask != 0) return RefuseObject("ibv_alloc_td: unknown members");
  auto* thread = new ThreadDomain;
  thread->context = context;
  return thread;
}

int FreeThreadDomain(ibv_td* thread) {
  auto* ours = static_cast<ThreadDomain*>(thread);
  {
    const Closing lock(ContextOf(thread->context));
    if (!lock || ours->users > 0) return EBUSY;
  }
  delete ours;
  return 0;
}

ibv_pd* AllocateParentDomain(ibv_context* ibv, ibv_parent_domain_init_attr* attr) {
  if (attr->pd == nullptr) return Fail(EINVAL);
  if ((attr->comp_mask & ~IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0) {
    return RefuseObject("ibv_alloc_parent_domain: EFA's driver takes no allocator of the program");
  }
  const Calling lock(ContextOf(ibv));
  auto* protection = static_cast<Domain*>(attr->pd);
  if (protection->protection != nullptr) return Fail(EINVAL);  // it is a parent itself
  auto* domain = new Domain;
  domain->context = ibv;
  domain->ibv_pd::handle = protection->number;
  domain->number = protection->number;
  domain->protection = protection;
  domain->thread = static_cast<ThreadDomain*>(attr->td);
  ++protection->users;
  if (domain->thread != nullptr) ++domain->thread->users;
  TellOpened(domain->opened, ContextOf(ibv), ObjectKind::kDomain);
  return domain;
}

// ---- Regions of later releases ----

struct Buffer {
  ibv_pd* domain;
  std::byte* address;
  std::size_t bytes;  // that were asked for
  std::size_t mapped;
};

void* AllocateBuffer(ibv_pd* domain, std::size_t bytes, Buffer** buffer) {
  if (bytes == 0) return Fail(EINVAL);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > SIZE_MAX - page) return Fail(ENOMEM);
  const std::size_t mapped = (bytes + page - 1) / page * page;
  void* address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  *buffer = new Buffer{domain, static_cast<std::byte*>(address), bytes, mapped};
  return address;
}

void FreeBuffer(Buffer* buffer) {
  munmap(buffer->address, buffer->mapped);
  delete buffer;
}

int ExportBuffer(Buffer*) {
  // ibv_alloc_buf(3): memory that has no dmabuf.
  errno = Refuse("ibv_export_buf_dmabuf_fd: the memory of ibv_alloc_buf has no dmabuf", ENODATA);
  return -1;
}

namespace {

// Whether the bytes are of a buffer that was made with this domain.
bool IsPartOf(const Buffer& buffer, const ibv_pd* pd, const void* address, std::size_t length) {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer.address);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - begin;
  return pd == buffer.domain && offset <= buffer.bytes && length <= buffer.bytes - offset;
}

// Whether a descriptor is a dmabuf, or a memfd, which stands in for one. As far as the system says.
bool IsDmabuf(int fd) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  char target[PATH_MAX];
  const ssize_t length = readlink(path, target, sizeof target);
  if (length < 0) return true;
  const std::string_view name(target, static_cast<std::size_t>(length));
  return name.starts_with("/dmabuf:") || name.starts_with("/memfd:");
}

// In bytes; the largest where the system does not say. A memfd has a position, which is the
// program's: it is not moved.
std::uint64_t SizeOfDmabuf(int fd) {
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    return static_cast<std::uint64_t>(status.st_size);
  }
  const off_t end = lseek(fd, 0, SEEK_END);
  return end < 0 ? UINT64_MAX : static_cast<std::uint64_t>(end);
}

}  // namespace

ibv_mr* RegisterBuffer(ibv_pd* pd, Buffer* buffer, void* address, std::size_t length, int access) {
  if (!IsPartOf(*buffer, pd, address, length)) return Fail(EINVAL);
  return Register(pd, address, length, reinterpret_cast<std::uintptr_t>(address),
                  static_cast<unsigned>(access));
}

ibv_mr* RegisterExtended(ibv_pd* pd, MrInitAttr* attr) {
  const std::uint64_t mask = attr->comp_mask;
  constexpr std::uint64_t kKnown = kMrIova | kMrAddress | kMrFd | kMrFdOffset | kMrBuffer;
  if ((mask & kMrHints) != 0) return RefuseObject("ibv_reg_mr_ex: no hints on how to reach memory");
  if ((mask & ~kKnown) != 0) return RefuseObject("ibv_reg_mr_ex: unknown members");
  const bool of_fd = (mask & kMrFd) != 0;
  if (of_fd != ((mask & kMrFdOffset) != 0)) return Fail(EINVAL);
  if (of_fd) {
    if ((mask & kMrIova) == 0 || (mask & (kMrAddress | kMrBuffer)) != 0) return Fail(EINVAL);
    return ibv_reg_dmabuf_mr(pd, attr->fd_offset, attr->length, attr->iova, attr->fd, attr->access);
  }
  if ((mask & kMrAddress) == 0) return Fail(EINVAL);
  if ((mask & kMrBuffer) != 0 && !IsPartOf(*attr->buffer, pd, attr->address, attr->length)) {
    return Fail(EINVAL);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(attr->address);
  return Register(pd, attr->address, attr->length, (mask & kMrIova) != 0 ? attr->iova : address,
                  static_cast<unsigned>(attr->access));
}

// Nothing is known of interconnects here.
int QueryEfaRegion(ibv_mr*, MrAttr* attr, std::uint32_t length) {
  if (length < sizeof *attr) return EINVAL;
  FillKnown(attr, length, MrAttr{});
  return 0;
}

}  // namespace drydock::sim::verbs

using namespace drydock::sim::verbs;  // NOLINT(build/namespaces)

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
  context.domains.insert(*number);
  auto* domain = new Domain;
  domain->context = ibv;
  domain->ibv_pd::handle = *number;
  domain->number = *number;
  TellOpened(domain->opened, context, drydock::sim::ObjectKind::kDomain);
  return domain;
}

int ibv_dealloc_pd(ibv_pd* pd) {
  Context& context = ContextOf(pd->context);
  auto* domain = static_cast<Domain*>(pd);
  {
    const Closing lock(context);
    if (!lock) return EBUSY;
    if (domain->users > 0) {
      TellBusy(domain->opened);
      return EBUSY;
    }
    domain->opened.reset();
    if (domain->protection == nullptr) {
      context.nic->admin().FreeDomain(domain->number);
      context.domains.erase(domain->number);
    } else {
      --domain->protection->users;
      if (domain->thread != nullptr) --domain->thread->users;
    }
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

// Memory of a device that can be reached by the host at `iova`, as the stand-ins for GPUs can;
// memory that only the device itself can touch is refused.
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                          int fd, int access) {
  if (fcntl(fd, F_GETFD) < 0) {
    errno = EBADF;
    return nullptr;
  }
  if (!IsDmabuf(fd)) {  // linux drivers/dma-buf/dma-buf.c, dma_buf_get
    return RefuseObject("ibv_reg_dmabuf_mr: the descriptor is no dmabuf", EINVAL);
  }
  // linux drivers/infiniband/core/umem_dmabuf.c, ib_umem_dmabuf_get
  const std::uint64_t bytes = SizeOfDmabuf(fd);
  if (offset > bytes || length > bytes - offset) {
    return RefuseObject("ibv_reg_dmabuf_mr: the range is not in the dmabuf", EINVAL);
  }
  auto* address = reinterpret_cast<void*>(iova);
  if (!MayBePinned(address, length, /*write=*/false)) {
    return RefuseObject(
        "ibv_reg_dmabuf_mr: the host cannot reach this memory, and neither can a simulated NIC");
  }
  return Register(pd, address, length, iova, static_cast<unsigned>(access));
}

int ibv_dereg_mr(ibv_mr* ibv) {
  Context& context = ContextOf(ibv->context);
  auto* region = static_cast<MemoryRegion*>(ibv);
  {
    const Closing lock(context);
    if (!lock) return EBUSY;
    context.nic->admin().DeregisterMemory(ibv->rkey);
    context.regions.erase(ibv->rkey);
    ForgetRegion(context.nic->index(), ibv->rkey);
    if (Trace* trace = TraceOfProcess()) trace->Closed(ibv);
    region->opened.reset();
    --static_cast<Domain*>(ibv->pd)->users;
  }
  delete region;
  return 0;
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (attr->is_global == 0 || attr->port_num != 1 || attr->grh.sgid_index != 0) {
    errno = EINVAL;
    return nullptr;
  }
  Context& context = ContextOf(pd->context);
  const Calling lock(context);
  drydock::sim::Gid gid{};
  std::copy(std::begin(attr->grh.dgid.raw), std::end(attr->grh.dgid.raw), gid.begin());
  context.host->Progress();  // machines that have come by now count
  const auto number =
      context.nic->admin().CreateAddressHandle(static_cast<Domain*>(pd)->number, gid);
  if (!number.ok()) {
    errno = absl::IsInvalidArgument(number.status()) ? EINVAL : ENOMEM;
    return nullptr;
  }
  if (Trace* trace = TraceOfProcess()) trace->NamedPeer(*context.nic, *number, gid);
  ++static_cast<Domain*>(pd)->users;
  context.handles.insert(*number);
  auto* handle = new AddressHandle;
  handle->context = pd->context;
  handle->pd = pd;
  handle->ibv_ah::handle = *number;
  handle->number = *number;
  TellOpened(handle->opened, context, drydock::sim::ObjectKind::kAddressHandle);
  return handle;
}

int ibv_destroy_ah(ibv_ah* ah) {
  Context& context = ContextOf(ah->context);
  auto* handle = static_cast<AddressHandle*>(ah);
  {
    const Closing lock(context);
    if (!lock) return EBUSY;
    context.host->Progress();
    TellHandleClosing(context, handle->number, static_cast<Domain*>(handle->pd)->number);
    handle->opened.reset();
    context.nic->admin().DestroyAddressHandle(handle->number);
    context.handles.erase(context.handles.find(handle->number));
    --static_cast<Domain*>(handle->pd)->users;
    context.host->Posted();
  }
  delete handle;
  return 0;
}

int efadv_query_ah(ibv_ah* ah, efadv_ah_attr* attr, std::uint32_t length) {
  if (length < offsetof(efadv_ah_attr, ahn) + sizeof attr->ahn) return EINVAL;
  std::memset(attr, 0, length);
  attr->ahn = static_cast<AddressHandle*>(ah)->number;
  return 0;
}

}  // extern "C"
