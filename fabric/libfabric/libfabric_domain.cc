#include "fabric/libfabric/libfabric_domain.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"
#include "fabric/libfabric/errno_mapping.h"
#include "fabric/libfabric/libfabric_endpoint.h"
#include "fabric/shared_core.h"

namespace fabric::libfabric {
namespace {

// "open endpoint on tcp;ofi_rxm eth0", for messages.
std::string On(absl::string_view what, const NicInfo& nic) {
  return absl::StrCat(what, " on ", nic.provider, " ", nic.name);
}

std::uint64_t AccessFlags(Access access) {
  constexpr std::pair<Access, std::uint64_t> kFlags[] = {{Access::kSend, FI_SEND},
                                                         {Access::kReceive, FI_RECV},
                                                         {Access::kWrite, FI_WRITE},
                                                         {Access::kRead, FI_READ},
                                                         {Access::kRemoteWrite, FI_REMOTE_WRITE},
                                                         {Access::kRemoteRead, FI_REMOTE_READ}};
  std::uint64_t flags = 0;
  for (const auto& [right, flag] : kFlags) {
    if (Allows(access, right)) flags |= flag;
  }
  return flags;
}

absl::StatusOr<Handle<fid_cq>> OpenQueue(DomainCore& core, std::size_t depth, bool blocking) {
  fi_cq_attr attributes{};
  attributes.size = depth;
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = blocking ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  const int result = core.api.OpenCompletionQueue(core.domain.get(), &attributes, &queue);
  if (result != 0) {
    return ControlError(result, On("open completion queue", core.nic.described) + ": fi_cq_open");
  }
  return Handle<fid_cq>(core.api, queue);
}

// Providers trust what they are given here, and this comes from a peer: only addresses of the
// provider's own kind pass.
absl::Status CheckAddress(const Address& address, const fi_info& info) {
  const auto bytes = address.bytes();
  if (info.addr_format == FI_ADDR_STR) {
    if (bytes.size() < 2 || bytes.back() != 0 ||
        std::find(bytes.begin(), bytes.end() - 1, 0) != bytes.end() - 1) {
      return absl::InvalidArgumentError("address is not a name of this provider");
    }
    return absl::OkStatus();
  }
  if (bytes.size() != info.src_addrlen) {
    return absl::InvalidArgumentError(
        absl::StrCat("address has ", bytes.size(), " bytes (", 2 * bytes.size(),
                     " digits): this provider's have ", info.src_addrlen));
  }
  sa_family_t family = 0;
  std::memcpy(&family, bytes.data(), sizeof family);
  if ((info.addr_format == FI_SOCKADDR_IN && family != AF_INET) ||
      (info.addr_format == FI_SOCKADDR_IN6 && family != AF_INET6)) {
    return absl::InvalidArgumentError(
        absl::StrCat("address is of family ", family, ", not an IP address of this provider"));
  }
  if (std::all_of(bytes.begin(), bytes.begin() + 16, [](std::uint8_t byte) { return byte == 0; })) {
    return absl::InvalidArgumentError("address is all zeros");
  }
  return absl::OkStatus();
}

}  // namespace

void QueueCore::Adopt(std::unique_ptr<RequestSlots> slots) {
  std::erase_if(orphans_, [](const auto& orphan) { return orphan->in_use() == 0; });
  slots->set_closed();
  if (slots->in_use() > 0) orphans_.push_back(std::move(slots));
}

// ---- Memory ----

LibfabricMemoryRegion::LibfabricMemoryRegion(std::shared_ptr<DomainCore> domain,
                                             const MemoryRequest& request, Handle<fid_mr> region)
    : domain_(std::move(domain)),
      request_(request),
      region_(std::move(region)),
      local_key_(reinterpret_cast<std::uint64_t>(fi_mr_desc(region_.get()))) {
  const bool virtual_address = (domain_->nic.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  remote_.address = virtual_address ? reinterpret_cast<std::uint64_t>(request.data) : 0;
  remote_.key = fi_mr_key(region_.get());
}

absl::Status LibfabricMemoryRegion::Close() {
  if (!region_) return absl::OkStatus();
  const int result = region_.Close();
  domain_.reset();
  return result == 0 ? absl::OkStatus() : ControlError(result, "close memory region: fi_close");
}

// ---- Address vectors ----

absl::StatusOr<Peer> LibfabricAddressVector::Insert(const Address& address) {
  if (core_ == nullptr) return ClosedError("address vector");
  RETURN_IF_ERROR(CheckAddress(address, *core_->domain->nic.info));
  fi_addr_t number = FI_ADDR_UNSPEC;
  const int result =
      core_->domain->api.InsertAddress(core_->vector.get(), address.bytes().data(), &number);
  if (result != 1 || number > UINT32_MAX) {
    return ControlError(result < 0 ? result : -FI_EINVAL, "insert peer: fi_av_insert");
  }
  if (core_->generations.size() <= number) {
    core_->generations.resize(number + 1);
    core_->addresses.resize(number + 1);
  }
  // The library may give one number to one address that is inserted twice: the peer stays the same.
  if (core_->generations[number] == 0) core_->generations[number] = ++core_->last_generation;
  core_->addresses[number] = address;
  return static_cast<Peer>(std::uint64_t{core_->generations[number]} << 32 | number);
}

absl::Status LibfabricAddressVector::Remove(Peer peer) {
  if (core_ == nullptr) return ClosedError("address vector");
  const fi_addr_t number = core_->Find(peer);
  if (number == FI_ADDR_UNSPEC) return absl::NotFoundError("remove peer: no such peer");
  core_->generations[number] = 0;
  const int result = core_->domain->api.RemoveAddress(core_->vector.get(), number);
  return result == 0 ? absl::OkStatus() : ControlError(result, "remove peer: fi_av_remove");
}

absl::StatusOr<Address> LibfabricAddressVector::Lookup(Peer peer) const {
  if (core_ == nullptr) return ClosedError("address vector");
  const fi_addr_t number = core_->Find(peer);
  if (number == FI_ADDR_UNSPEC) return absl::NotFoundError("look up peer: no such peer");
  return core_->addresses[number];
}

absl::Status LibfabricAddressVector::Close() { return CloseShared(core_, "address vector"); }

// ---- Domain ----

absl::StatusOr<std::unique_ptr<Domain>> LibfabricDomain::Open(Api& api, const NicChoice& nic) {
  auto core = std::make_shared<DomainCore>(api, nic);
  core->is_efa = IsEfa(*nic.info);
  fid_fabric* fabric = nullptr;
  if (const int result = api.OpenFabric(nic.info->fabric_attr, &fabric); result != 0) {
    return ControlError(result, On("open fabric", nic.described) + ": fi_fabric");
  }
  core->fabric = Handle<fid_fabric>(api, fabric);
  fid_domain* domain = nullptr;
  if (const int result = api.OpenDomain(fabric, nic.info, &domain); result != 0) {
    return ControlError(result, On("open domain", nic.described) + ": fi_domain");
  }
  core->domain = Handle<fid_domain>(api, domain);
  NicInfo info = nic.described;
  // Whether a queue can block is not in any attribute: one tries.
  if (OpenQueue(*core, 1, /*blocking=*/true).ok()) info.capabilities.Add(Capability::kBlockingWait);
  return std::make_unique<LibfabricDomain>(std::move(core), std::move(info));
}

absl::StatusOr<std::unique_ptr<MemoryRegion>> LibfabricDomain::RegisterMemory(
    const MemoryRequest& request) {
  if (core_ == nullptr) return ClosedError("domain");
  if (request.data == nullptr || request.length_bytes == 0) {
    return absl::InvalidArgumentError("register memory: the range is empty");
  }
  if (request.kind != MemoryKind::kSystem || request.dmabuf.has_value()) {
    return absl::UnimplementedError("register memory: this backend takes host memory only");
  }
  iovec range{request.data, request.length_bytes};
  fi_mr_attr attributes{};
  attributes.mr_iov = &range;
  attributes.iov_count = 1;
  attributes.access = AccessFlags(request.access);
  if ((core_->nic.info->domain_attr->mr_mode & FI_MR_PROV_KEY) == 0) {
    attributes.requested_key = core_->next_key.fetch_add(1);
  }
  fid_mr* region = nullptr;
  const int result = core_->api.RegisterMemory(core_->domain.get(), &attributes, 0, &region);
  if (result != 0) {
    return ControlError(result, On(absl::StrCat("register ", request.length_bytes, " B"), info_) +
                                    ": fi_mr_regattr");
  }
  return std::make_unique<LibfabricMemoryRegion>(core_, request,
                                                 Handle<fid_mr>(core_->api, region));
}

absl::StatusOr<std::unique_ptr<CompletionQueue>> LibfabricDomain::OpenCompletionQueue(
    const CompletionQueueOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  constexpr std::size_t kMostEntries = 1u << 20;
  if (options.depth > kMostEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("open completion queue: depth ", options.depth, " is over ", kMostEntries));
  }
  const std::size_t depth =
      options.depth != 0 ? options.depth : info_.limits.completion_queue_depth;
  ASSIGN_OR_RETURN(Handle<fid_cq> queue, OpenQueue(*core_, depth, options.blocking_wait));
  std::optional<int> descriptor;
  if (options.blocking_wait) {
    int number = -1;
    if (const int result = core_->api.GetWaitDescriptor(queue.get(), &number); result != 0) {
      return ControlError(result, On("open completion queue", info_) + ": fi_control(FI_GETWAIT)");
    }
    descriptor = number;
  }
  return std::make_unique<LibfabricCompletionQueue>(
      std::make_shared<QueueCore>(core_, std::move(queue), depth), descriptor);
}

absl::StatusOr<std::unique_ptr<AddressVector>> LibfabricDomain::OpenAddressVector() {
  if (core_ == nullptr) return ClosedError("domain");
  fi_av_attr attributes{};
  attributes.type = FI_AV_TABLE;
  fid_av* vector = nullptr;
  if (const int result = core_->api.OpenAddressVector(core_->domain.get(), &attributes, &vector);
      result != 0) {
    return ControlError(result, On("open address vector", info_) + ": fi_av_open");
  }
  return std::make_unique<LibfabricAddressVector>(
      std::make_shared<VectorCore>(core_, Handle<fid_av>(core_->api, vector)));
}

absl::StatusOr<std::unique_ptr<Endpoint>> LibfabricDomain::OpenEndpoint(
    const EndpointOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  if (options.send_queue == nullptr || options.receive_queue == nullptr ||
      options.address_vector == nullptr) {
    return absl::InvalidArgumentError(
        "open endpoint: needs a send queue, a receive queue and an address vector");
  }
  const auto* send = dynamic_cast<LibfabricCompletionQueue*>(&options.send_queue->Unwrap());
  const auto* receive = dynamic_cast<LibfabricCompletionQueue*>(&options.receive_queue->Unwrap());
  const auto* peers = dynamic_cast<LibfabricAddressVector*>(&options.address_vector->Unwrap());
  const auto ours = [this](const auto* object) {
    return object != nullptr && object->core() != nullptr && object->core()->domain == core_;
  };
  if (!ours(send) || !ours(receive) || !ours(peers)) {
    return absl::InvalidArgumentError(
        "open endpoint: its queues and address vector must be open and of the same domain");
  }
  return LibfabricEndpoint::Open(info_.limits, send->core(), receive->core(), peers->core());
}

absl::Status LibfabricDomain::Close() { return CloseShared(core_, "domain"); }

}  // namespace fabric::libfabric
