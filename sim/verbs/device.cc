// Devices: the list of them, opening one, and its attributes.

#include <dlfcn.h>
#include <endian.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/verbs/completion_channel.h"
#include "drydock/sim/verbs/completion_queue.h"
#include "drydock/sim/verbs/lost_memory.h"
#include "drydock/sim/verbs/machine.h"
#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/objects.h"
#include "drydock/sim/verbs/queue_pair.h"
#include "drydock/sim/verbs/refusal.h"
#include "drydock/sim/verbs/termination.h"
#include "drydock/sim/verbs/unsupported.h"

// Macros of the header that stand before the functions of the same name.
#undef ibv_query_port

namespace drydock::sim::verbs {
namespace {

using fabric::ErrorCode;

constexpr std::uint32_t kAmazon = 0x1d0f;

// "1d0f:efa1": the part after the colon, a hexadecimal number.
std::uint32_t PartOf(const Profile& profile) {
  const std::size_t colon = profile.vendor_device_id.find(':');
  if (colon == std::string::npos) return 0xefa0;
  return static_cast<std::uint32_t>(
      std::strtoul(profile.vendor_device_id.c_str() + colon + 1, nullptr, 16));
}

void Copy(char* target, std::size_t bytes, const std::string& text) {
  std::snprintf(target, bytes, "%s", text.c_str());
}

Device* MakeDevice(const Machine& machine, std::size_t index) {
  const char* sysfs = std::getenv("SYSFS_PATH");
  const std::string root = sysfs != nullptr && sysfs[0] != '\0' ? sysfs : "/sys";
  const std::string& name = machine.profile().nics[index].name;
  auto* device = new Device;
  device->index = index;
  device->node_type = IBV_NODE_UNSPECIFIED;
  device->transport_type = IBV_TRANSPORT_UNSPECIFIED;
  Copy(device->name, sizeof device->name, name);
  Copy(device->dev_name, sizeof device->dev_name, absl::StrCat("uverbs", index));
  Copy(device->dev_path, sizeof device->dev_path,
       absl::StrCat(root, "/class/infiniband_verbs/uverbs", index));
  Copy(device->ibdev_path, sizeof device->ibdev_path,
       absl::StrCat(root, "/class/infiniband/", name));
  return device;
}

const std::vector<Device*>& Devices() {
  static constinit std::atomic<const std::vector<Device*>*> devices = nullptr;
  if (const auto* const made = devices.load(std::memory_order_acquire)) return *made;
  const absl::StatusOr<Machine*>& machine = Machine::Get();  // first: it takes the mutex, too
  const TerminationDelay termination_delay;
  const std::lock_guard lock(MutexOfFirstUse());
  if (const auto* const made = devices.load(std::memory_order_relaxed)) return *made;
  auto* const made = new std::vector<Device*>;
  for (std::size_t i = 0; machine.ok() && i < (*machine)->profile().nics.size(); ++i) {
    made->push_back(MakeDevice(**machine, i));
  }
  devices.store(made, std::memory_order_release);
  return *made;
}

// ---- The attributes of a device ----

void Fill(const Context& context, ibv_device_attr& attr) {
  const DeviceAttributes& device = context.profile().device;
  attr = {};
  Copy(attr.fw_ver, sizeof attr.fw_ver, "0.0.0.0");
  attr.node_guid = ibv_get_device_guid(context.handle.verbs.context.device);
  attr.max_mr_size = device.max_mr_pages * device.page_bytes;
  attr.page_size_cap = ~std::uint64_t{device.page_bytes - 1};
  attr.vendor_id = kAmazon;
  attr.vendor_part_id = PartOf(context.profile());
  attr.max_qp = static_cast<int>(device.max_qp);
  attr.max_qp_wr = static_cast<int>(std::min(device.max_sq_depth, device.max_rq_depth));
  attr.max_sge = static_cast<int>(std::min(device.max_wr_send_sges, device.max_wr_recv_sges));
  attr.max_sge_rd = static_cast<int>(device.max_wr_rdma_sges);
  attr.max_cq = static_cast<int>(device.max_cq);
  attr.max_cqe = static_cast<int>(device.max_cq_depth);
  attr.max_mr = static_cast<int>(device.max_mr);
  attr.max_pd = static_cast<int>(device.max_pd);
  attr.max_ah = static_cast<int>(device.max_ah);
  attr.max_pkeys = 1;
  attr.phys_port_cnt = 1;
}

// As EFA's driver tells a link by InfiniBand's lanes (amzn-drivers kernel/linux/efa/src/efa_verbs.c,
// efa_link_gbps_to_speed_and_width), in the codes of linux-rdma's uapi/rdma/ib_user_ioctl_verbs.h.
struct Link {
  double least_gbps;
  std::uint8_t width;  // 1: one lane, 2: four, 4: eight, 8: twelve
  std::uint8_t speed;  // of a lane
};
constexpr std::uint8_t kSdr = 1, kDdr = 2, kFdr10 = 8, kEdr = 32, kHdr = 64, kNdr = 128;

Link LinkOf(double gbps) {
  constexpr Link kLinks[] = {{800, 4, kNdr},   {400, 4, kHdr},  {200, 2, kHdr},
                             {120, 8, kFdr10}, {100, 2, kEdr},  {60, 8, kDdr},
                             {50, 1, kHdr},    {40, 2, kFdr10}, {30, 8, kSdr}};
  for (const Link& link : kLinks) {
    if (gbps >= link.least_gbps) return link;
  }
  return {0, 1, kEdr};
}

int QueryPort(ibv_context* ibv, std::uint8_t port, ibv_port_attr* attr, std::size_t length) {
  if (port != 1) return EINVAL;
  const Context& context = ContextOf(ibv);
  ibv_port_attr filled{};
  filled.state = IBV_PORT_ACTIVE;
  filled.max_mtu = IBV_MTU_4096;
  filled.active_mtu = IBV_MTU_4096;
  filled.gid_tbl_len = 1;
  filled.max_msg_sz = context.profile().device.mtu;
  filled.pkey_tbl_len = 1;
  filled.max_vl_num = 1;
  const Link link = LinkOf(context.profile().link_gbps);
  filled.active_width = link.width;
  filled.active_speed = link.speed;
  filled.phys_state = 5;  // the link is up
  filled.lmc = 1;
  filled.link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  FillKnown(attr, length, filled);
  return 0;
}

int QueryDeviceEx(ibv_context* ibv, const ibv_query_device_ex_input*, ibv_device_attr_ex* attr,
                  std::size_t length) {
  if (length < sizeof(ibv_device_attr)) return EINVAL;
  ibv_device_attr_ex filled{};
  Fill(ContextOf(ibv), filled.orig_attr);
  filled.phys_port_cnt_ex = 1;
  FillKnown(attr, length, filled);
  return 0;
}

// ---- Opening ----

void FillFunctions(Context& context, ibv_device* device) {
  verbs_context& verbs = context.handle.verbs;
  verbs.query_port = QueryPort;
  verbs.query_device_ex = QueryDeviceEx;
  verbs.create_cq_ex = CreateExtendedQueue;
  verbs.alloc_td = AllocateThreadDomain;
  verbs.dealloc_td = FreeThreadDomain;
  verbs.alloc_parent_domain = AllocateParentDomain;
  verbs.create_qp_ex = CreateQueuePair;
  verbs.sz = sizeof(verbs_context);
  RefuseByContext(verbs);
  ibv_context& plain = verbs.context;
  plain.device = device;
  plain.ops.poll_cq = PollQueue;
  plain.ops.req_notify_cq = RequestEvent;
  plain.ops.post_send = PostSends;
  plain.ops.post_recv = PostReceives;
  plain.cmd_fd = -1;
  plain.async_fd = eventfd(0, EFD_CLOEXEC);  // nothing is ever written there
  plain.num_comp_vectors = static_cast<int>(context.profile().device.num_comp_vectors);
  plain.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

// As the kernel does when a device's file closes: what the program has left there goes, though it
// still has the handles. REQUIRES: the context's mutex is held.
void LeaveNic(Context& context) {
  AdminQueue& admin = context.nic->admin();
  for (QueuePair* queue_pair : context.queue_pairs) {
    if (queue_pair == nullptr) continue;
    queue_pair->Close();
    queue_pair->LeaveNic();
  }
  for (Queue* queue : context.queues) {
    Abandon(*queue);
    queue->LetGo();
    admin.DestroyCompletionRing();
  }
  for (const std::uint16_t handle : context.handles) admin.DestroyAddressHandle(handle);
  for (const std::uint32_t key : context.regions) {
    admin.DeregisterMemory(key);
    ForgetRegion(context.nic->index(), key);
  }
  for (const ProtectionDomain domain : context.domains) admin.FreeDomain(domain);
  for (std::uint32_t i = 0; i < context.counters; ++i) admin.DestroyCounter();
}

int ErrnoOf(ErrorCode error) {
  switch (error) {
    case ErrorCode::kAgain:
      return EAGAIN;
    case ErrorCode::kInvalidArgument:
      return EINVAL;
    case ErrorCode::kUnsupported:
      return EOPNOTSUPP;
    case ErrorCode::kBusy:
      return EBUSY;
    case ErrorCode::kDeviceFault:
      return EIO;
    default:
      return ENOMEM;
  }
}

}  // namespace

int MaxSendDepth(ibv_context* ibv, SqDepthAttr* attr, std::uint32_t length) {
  const Profile& profile = ContextOf(ibv).profile();
  const DeviceAttributes& device = profile.device;
  if (length < sizeof *attr || attr->comp_mask != 0) return -EINVAL;
  if (attr->max_send_sge > device.max_wr_send_sges ||
      attr->max_rdma_sge > device.max_wr_rdma_sges ||
      attr->max_inline_data > MaxInlineBytes(profile)) {
    return -EINVAL;
  }
  const bool inline_write = (attr->flags & kSqDepthInlineWrite) != 0;
  const std::size_t bytes = inline_write ? 128 : WorkRequestBytes(profile, attr->max_inline_data);
  return static_cast<int>(MaxSendQueueDepth(profile, bytes));
}

int MaxReceiveDepth(ibv_context* ibv, RqDepthAttr* attr, std::uint32_t length) {
  const DeviceAttributes& device = ContextOf(ibv).profile().device;
  constexpr std::size_t kKnown = offsetof(RqDepthAttr, max_recv_sge) + sizeof attr->max_recv_sge;
  if (length < kKnown || attr->comp_mask != 0) return -EINVAL;
  if (attr->max_recv_sge == 0 || attr->max_recv_sge > device.max_wr_recv_sges) return -EINVAL;
  return static_cast<int>(device.max_rq_depth / attr->max_recv_sge);
}

int QueryPortSpeed(ibv_context* ibv, std::uint32_t port, std::uint64_t* speed) {
  if (port != 1) return EINVAL;
  *speed = static_cast<std::uint64_t>(ContextOf(ibv).profile().link_gbps * 10);  // of 100 Mbit/s
  return 0;
}

int AskPlan(const Context& context, fabric::faults::Point point) {
  fabric::faults::FaultEngine* const plan = (*Machine::Get())->faults();
  if (plan == nullptr) return 0;
  fabric::faults::EventView view;
  view.nic = context.nic->name();
  view.time = context.host->world().timeline().elapsed();
  const auto firing = plan->Decide(fabric::faults::Layer::kDecorator, point, view);
  return firing ? ErrnoOf(firing.parameters().error) : 0;
}

}  // namespace drydock::sim::verbs

using drydock::sim::verbs::Calling;
using drydock::sim::verbs::Context;
using drydock::sim::verbs::ContextOf;
using drydock::sim::verbs::Machine;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  const auto& devices = drydock::sim::verbs::Devices();
  if (count != nullptr) *count = static_cast<int>(devices.size());
  if (!Machine::Get().ok()) {
    errno = EINVAL;
    return nullptr;
  }
  auto** list = static_cast<ibv_device**>(std::calloc(devices.size() + 1, sizeof(ibv_device*)));
  for (std::size_t i = 0; list != nullptr && i < devices.size(); ++i) list[i] = devices[i];
  return list;
}

void ibv_free_device_list(ibv_device** list) { std::free(list); }

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(static_cast<drydock::sim::verbs::Device*>(device)->index);
}

__be64 ibv_get_device_guid(ibv_device* device) {
  return htobe64(static_cast<std::uint64_t>(ibv_get_device_index(device)) + 1);
}

ibv_context* ibv_open_device(ibv_device* device) {
  auto host = (*Machine::Get())->Open();
  if (!host.ok()) {
    // libfabric tries each device.
    drydock::sim::verbs::SayOnce(std::string(host.status().message()));
    errno = ENODEV;
    return nullptr;
  }
  auto* context = new Context;
  context->host = *std::move(host);
  context->nic = &context->host->node().nic(static_cast<std::size_t>(ibv_get_device_index(device)));
  context->handle.context = context;
  drydock::sim::verbs::FillFunctions(*context, device);
  if (context->handle.verbs.context.async_fd < 0) {
    delete context;
    return nullptr;
  }
  const Calling lock(*context);
  if (drydock::sim::verbs::Trace* trace = drydock::sim::verbs::TraceOfProcess()) {
    trace->OpenedNic(context, *context->nic);
  }
  if (drydock::sim::verbs::Findings* findings = (*Machine::Get())->findings())
    findings->Opened(*context);
  return &context->handle.verbs.context;
}

int ibv_close_device(ibv_context* ibv) {
  Context& context = ContextOf(ibv);
  {
    const drydock::sim::verbs::Closing lock(context);
    if (!lock) return EBUSY;
    if (drydock::sim::verbs::Trace* trace = drydock::sim::verbs::TraceOfProcess())
      trace->Closed(&context);
    drydock::sim::verbs::Findings* const findings = (*Machine::Get())->findings();
    if (findings != nullptr) findings->Closed(context);
    drydock::sim::verbs::LeaveNic(context);
  }
  close(ibv->async_fd);
  delete &context;
  return 0;
}

// EFA's driver reports none but that the device is gone for good: a program waits for ever, or
// until a signal ends its wait (EINTR).
int ibv_get_async_event(ibv_context* context, ibv_async_event*) {
  drydock::sim::verbs::WaitInVirtualTime(context->async_fd, ContextOf(context));
  std::uint64_t nothing = 0;
  if (read(context->async_fd, &nothing, sizeof nothing) >= 0) errno = EAGAIN;
  return -1;
}

void ibv_ack_async_event(ibv_async_event*) {}

int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  drydock::sim::verbs::Fill(ContextOf(context), *attr);
  return 0;
}

int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  // The structure without its last two fields.
  constexpr std::size_t kCompatBytes = offsetof(ibv_port_attr, port_cap_flags2);
  return drydock::sim::verbs::QueryPort(context, port, reinterpret_cast<ibv_port_attr*>(attr),
                                        kCompatBytes);
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  const drydock::sim::Gid& ours = ContextOf(context).nic->gid();
  std::copy(ours.begin(), ours.end(), gid->raw);
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t flags, std::size_t bytes) {
  if (flags != 0) return drydock::sim::verbs::Refuse("ibv_query_gid_ex: unknown flags");
  ibv_gid_entry filled{};
  if (port > 1 || index > 0 ||
      ibv_query_gid(context, static_cast<std::uint8_t>(port), 0, &filled.gid) != 0) {
    return EINVAL;
  }
  filled.port_num = 1;
  filled.gid_type = IBV_GID_TYPE_IB;
  std::memset(static_cast<void*>(entry), 0, bytes);
  std::memcpy(static_cast<void*>(entry), &filled, std::min(bytes, sizeof filled));
  return 0;
}

// A NIC has one port, and that one address.
ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most,
                             std::uint32_t flags, std::size_t bytes) {
  if (most == 0) return -EINVAL;
  const int error = _ibv_query_gid_ex(context, 1, 0, entries, flags, bytes);
  return error == 0 ? 1 : -error;
}

int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 pkey) {
  return port == 1 && pkey == 0xffff ? 0 : -1;
}

int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = 0xffff;
  return 0;
}

int efadv_query_device(ibv_context* context, efadv_device_attr* attr, std::uint32_t length) {
  const drydock::sim::Profile& profile = ContextOf(context).profile();
  const drydock::sim::DeviceAttributes& device = profile.device;
  using namespace drydock::sim::verbs;  // NOLINT(build/namespaces)
  if (length < offsetof(DeviceAttr, inline_buf_size_ex)) return EINVAL;
  DeviceAttr filled{};
  filled.max_sq_wr = device.max_sq_depth;
  filled.max_rq_wr = device.max_rq_depth;
  filled.max_sq_sge = static_cast<std::uint16_t>(device.max_wr_send_sges);
  filled.max_rq_sge = static_cast<std::uint16_t>(device.max_wr_recv_sges);
  filled.inline_buf_size = static_cast<std::uint16_t>(device.inline_buf_size);
  // As rdma-core providers/efa/efa.c: that of 64-byte work requests where there are no others.
  filled.inline_buf_size_ex = static_cast<std::uint16_t>(MaxInlineBytes(profile));
  filled.device_caps = (device.rdma_read ? kCapRdmaRead : 0) |
                       (device.rnr_retry ? kCapRnrRetry : 0) | kCapCqWithSgid |
                       (device.rdma_write ? kCapRdmaWrite : 0) |
                       (device.unsolicited_write_recv ? kCapUnsolicitedWriteRecv : 0) |
                       kCapCqWithExtMemDmabuf | (device.max_comp_cntr > 0 ? kCapCompCntr : 0);
  filled.max_rdma_size = static_cast<std::uint32_t>(device.max_rdma_size);
  std::memset(attr, 0, length);
  std::memcpy(attr, &filled, std::min<std::size_t>(length, sizeof filled));
  return 0;
}

}  // extern "C"
