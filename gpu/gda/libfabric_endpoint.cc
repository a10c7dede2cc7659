#include "drydock/gpu/gda/libfabric_endpoint.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/libfabric/library.h"

namespace drydock::gpu::gda {
namespace {

using fabric::libfabric::InstalledLibrary;
using fabric::libfabric::Library;

absl::Status Check(int error, const char* call) {
  if (error == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", InstalledLibrary()->strerror(-error)));
}

struct FreeInfo {
  void operator()(fi_info* info) const { InstalledLibrary()->freeinfo(info); }
};
using InfoList = std::unique_ptr<fi_info, FreeInfo>;

struct CloseFid {
  template <typename Fid>
  void operator()(Fid* fid) const {
    fi_close(&fid->fid);
  }
};
template <typename Fid>
using Closing = std::unique_ptr<Fid, CloseFid>;

std::string VersionOf(const Library& library) {
  const std::uint32_t version = library.version();
  return absl::StrCat("libfabric ", FI_MAJOR(version), ".", FI_MINOR(version));
}

// What a NIC with the fabric efa-direct offers; none: why.
absl::StatusOr<InfoList> FindNics() {
  ASSIGN_OR_RETURN(const Library library, InstalledLibrary());
  const InfoList hints(library.dupinfo(nullptr));
  if (hints == nullptr) return absl::ResourceExhaustedError("fi_dupinfo: no memory");
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->fabric_attr->prov_name = strdup("efa");
  hints->fabric_attr->name = strdup("efa-direct");
  fi_info* found = nullptr;
  const std::uint32_t version = std::min<std::uint32_t>(library.version(), FI_VERSION(2, 0));
  const int error = library.getinfo(version, nullptr, nullptr, 0, hints.get(), &found);
  if (error == 0) return InfoList(found);
  return absl::NotFoundError(absl::StrCat(
      VersionOf(library), " offers no NIC with the fabric efa-direct (", library.strerror(-error),
      "): it takes an EFA NIC and libfabric 2.1 or later, and queues for devices take 2.3"));
}

class Endpoint final : public LibfabricEndpoint {
 public:
  absl::Status OpenOn(fi_info* info);

  const std::string& nic() const override { return nic_; }
  const QueueView& View() const override { return view_; }
  std::string library() const override { return VersionOf(*InstalledLibrary()); }

 private:
  absl::Status OpenQueues();
  absl::Status OpenEndpoint(fi_info* info);

  std::string nic_;
  QueueView view_;
  // Closed in reverse order.
  Closing<fid_fabric> fabric_;
  Closing<fid_domain> domain_;
  Closing<fid_av> peers_;
  Closing<fid_cq> send_done_;
  Closing<fid_cq> receive_done_;
  Closing<fid_ep> endpoint_;
};

absl::Status Endpoint::OpenOn(fi_info* info) {
  nic_ = info->nic != nullptr ? info->nic->device_attr->name : info->domain_attr->name;
  fid_fabric* fabric = nullptr;
  RETURN_IF_ERROR(
      Check(InstalledLibrary()->fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric"));
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  RETURN_IF_ERROR(Check(fi_domain(fabric, info, &domain, nullptr), "fi_domain"));
  domain_.reset(domain);
  ASSIGN_OR_RETURN(const std::unique_ptr<GdaOps> ops, OpenGdaOps(domain));
  RETURN_IF_ERROR(OpenQueues());
  RETURN_IF_ERROR(OpenEndpoint(info));
  ASSIGN_OR_RETURN(view_, QueryQueue(*ops, endpoint_.get(), send_done_.get(), receive_done_.get()));
  return absl::OkStatus();
}

absl::Status Endpoint::OpenQueues() {
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  fid_av* peers = nullptr;
  RETURN_IF_ERROR(Check(fi_av_open(domain_.get(), &av, &peers, nullptr), "fi_av_open"));
  peers_.reset(peers);
  for (Closing<fid_cq>* queue : {&send_done_, &receive_done_}) {
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_DATA;
    cq.wait_obj = FI_WAIT_NONE;
    fid_cq* opened = nullptr;
    RETURN_IF_ERROR(Check(fi_cq_open(domain_.get(), &cq, &opened, nullptr), "fi_cq_open"));
    queue->reset(opened);
  }
  return absl::OkStatus();
}

absl::Status Endpoint::OpenEndpoint(fi_info* info) {
  fid_ep* endpoint = nullptr;
  RETURN_IF_ERROR(Check(fi_endpoint(domain_.get(), info, &endpoint, nullptr), "fi_endpoint"));
  endpoint_.reset(endpoint);
  RETURN_IF_ERROR(Check(fi_ep_bind(endpoint, &peers_->fid, 0), "fi_ep_bind"));
  RETURN_IF_ERROR(Check(fi_ep_bind(endpoint, &send_done_->fid, FI_TRANSMIT), "fi_ep_bind"));
  RETURN_IF_ERROR(Check(fi_ep_bind(endpoint, &receive_done_->fid, FI_RECV), "fi_ep_bind"));
  return Check(fi_enable(endpoint), "fi_enable");
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibfabricEndpoint>> LibfabricEndpoint::Open(const std::string& nic) {
  ASSIGN_OR_RETURN(const InfoList list, FindNics());
  for (fi_info* info = list.get(); info != nullptr; info = info->next) {
    const bool named = info->nic != nullptr && nic == info->nic->device_attr->name;
    if (!nic.empty() && !named) continue;
    auto endpoint = std::make_unique<Endpoint>();
    RETURN_IF_ERROR(endpoint->OpenOn(info));
    return endpoint;
  }
  return absl::NotFoundError(absl::StrCat("no NIC is called ", nic));
}

}  // namespace drydock::gpu::gda
