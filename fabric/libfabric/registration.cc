#include "drydock/fabric/libfabric/registration.h"

#include <rdma/fabric.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace drydock::fabric::libfabric {
namespace {

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

absl::Status CheckKind(const MemoryRequest& request, const fi_info& info) {
  if (request.kind == MemoryKind::kStandIn) {
    return absl::UnimplementedError(
        "register memory: the stand-in GPU is known to simulated NICs only; take a CUDA device, or "
        "--fabric=sim");
  }
  if (request.kind == MemoryKind::kSystem || (info.caps & FI_HMEM) != 0) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "register memory of CUDA device ", request.device, ": provider ", info.fabric_attr->prov_name,
      " has no FI_HMEM here: libfabric was built without CUDA, the GPU's driver is not "
      "loaded, or its NIC does not reach the GPU (FI_HMEM_DISABLE_P2P, efa_nv_peermem)"));
}

absl::Status DescribeDmabuf(const MemoryRequest& request, const fi_info& info,
                            Registration& registration) {
  if (request.dmabuf->fd < 0) {  // not every provider looks
    return absl::InvalidArgumentError(
        absl::StrCat("register memory by dmabuf fd ", request.dmabuf->fd, ": that is no file"));
  }
#ifdef FI_MR_DMABUF
  // An older library would take the descriptor for an address.
  const std::uint32_t version = info.fabric_attr->api_version;
  if (FI_VERSION_LT(version, FI_VERSION(1, 20))) {
    return absl::UnimplementedError(
        absl::StrCat("register memory by dmabuf fd ", request.dmabuf->fd, ": libfabric ",
                     FI_MAJOR(version), ".", FI_MINOR(version),
                     " runs here, FI_MR_DMABUF came with 1.20: register it by address and kind"));
  }
  registration.dmabuf.fd = request.dmabuf->fd;
  registration.dmabuf.offset = request.dmabuf->offset_bytes;
  registration.dmabuf.len = request.length_bytes;
  registration.dmabuf.base_addr = request.data - request.dmabuf->offset_bytes;
  registration.attributes.dmabuf = &registration.dmabuf;
  registration.flags |= FI_MR_DMABUF;
  return absl::OkStatus();
#else
  (void)info;
  (void)registration;
  return absl::UnimplementedError(absl::StrCat(
      "register memory by dmabuf fd ", request.dmabuf->fd,
      ": FI_MR_DMABUF came with libfabric 1.20, and this was built with ", FI_MAJOR_VERSION, ".",
      FI_MINOR_VERSION, ": register it by address and kind, or build with a newer one"));
#endif
}

}  // namespace

absl::Status Describe(const MemoryRequest& request, const fi_info& info,
                      Registration& registration) {
  fi_mr_attr& attributes = registration.attributes;
  attributes.iov_count = 1;
  attributes.access = AccessFlags(request.access);
  const absl::Status status = CheckKind(request, info);
  if (!status.ok()) return status;
  if (request.kind == MemoryKind::kCuda) {
    attributes.iface = FI_HMEM_CUDA;
    attributes.device.cuda = request.device;
  }
  if (request.dmabuf.has_value()) return DescribeDmabuf(request, info, registration);
  registration.range = {request.data, request.length_bytes};
  attributes.mr_iov = &registration.range;
  return absl::OkStatus();
}

}  // namespace drydock::fabric::libfabric
