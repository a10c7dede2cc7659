#include "drydock/testing/benchmarks/raw_end.h"

#include <rdma/fi_cm.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/libfabric/library.h"

namespace drydock::bench {
namespace {

using fabric::libfabric::InstalledLibrary;

// Takes what an fi_..._open call returned by pointer.
template <typename Object, typename Open>
absl::Status Own(Owned<Object>& owner, const char* call, Open open) {
  Object* object = nullptr;
  const int result = open(&object);
  if (result != 0) {
    return absl::InternalError(absl::StrCat(call, ": ", InstalledLibrary()->strerror(-result)));
  }
  owner.reset(object);
  return absl::OkStatus();
}

absl::Status Check(const char* call, int result) {
  if (result == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", InstalledLibrary()->strerror(-result)));
}

absl::Status Register(fid_domain* domain, const fi_info& info, std::byte* memory,
                      std::size_t length_bytes, Owned<fid_mr>& region) {
  iovec range{memory, length_bytes};
  fi_mr_attr attributes{};
  attributes.mr_iov = &range;
  attributes.iov_count = 1;
  attributes.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if ((info.domain_attr->mr_mode & FI_MR_PROV_KEY) == 0) attributes.requested_key = 1;
  return Own(region, "fi_mr_regattr",
             [&](fid_mr** opened) { return fi_mr_regattr(domain, &attributes, 0, opened); });
}

absl::Status BindAndEnable(fid_ep* endpoint, fid_cq* queue, fid_av* peers) {
  RETURN_IF_ERROR(Check("fi_ep_bind", fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV)));
  RETURN_IF_ERROR(Check("fi_ep_bind", fi_ep_bind(endpoint, &peers->fid, 0)));
  return Check("fi_enable", fi_enable(endpoint));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RawEnd>> RawEnd::Open(fi_info& info, std::byte* memory,
                                                     std::size_t length_bytes, bool pauses) {
  std::unique_ptr<RawEnd> end(new RawEnd);
  RETURN_IF_ERROR(Own(end->fabric_, "fi_fabric", [&](fid_fabric** fabric) {
    return InstalledLibrary()->fabric(info.fabric_attr, fabric, nullptr);
  }));
  RETURN_IF_ERROR(Own(end->domain_, "fi_domain", [&](fid_domain** domain) {
    return fi_domain(end->fabric_.get(), &info, domain, nullptr);
  }));
  fi_cq_attr queue{};
  queue.size = info.tx_attr->size + info.rx_attr->size;
  queue.format = FI_CQ_FORMAT_DATA;
  queue.wait_obj = FI_WAIT_NONE;
  RETURN_IF_ERROR(Own(end->queue_, "fi_cq_open", [&](fid_cq** opened) {
    return fi_cq_open(end->domain_.get(), &queue, opened, nullptr);
  }));
  fi_av_attr peers{};
  peers.type = FI_AV_TABLE;
  RETURN_IF_ERROR(Own(end->peers_, "fi_av_open", [&](fid_av** opened) {
    return fi_av_open(end->domain_.get(), &peers, opened, nullptr);
  }));
  RETURN_IF_ERROR(Register(end->domain_.get(), info, memory, length_bytes, end->region_));
  RETURN_IF_ERROR(Own(end->endpoint_, "fi_endpoint", [&](fid_ep** endpoint) {
    return fi_endpoint(end->domain_.get(), &info, endpoint, nullptr);
  }));
  RETURN_IF_ERROR(BindAndEnable(end->endpoint_.get(), end->queue_.get(), end->peers_.get()));
  end->pauses_ = pauses;
  end->memory_ = memory;
  const bool virtual_address = (info.domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  end->address_ = virtual_address ? reinterpret_cast<std::uint64_t>(memory) : 0;
  end->descriptor_ = fi_mr_desc(end->region_.get());
  return absl::StatusOr<std::unique_ptr<RawEnd>>(std::move(end));
}

absl::Status RawEnd::WriteTo(const RawEnd& peer) {
  std::array<std::uint8_t, 256> name;
  std::size_t length = name.size();
  RETURN_IF_ERROR(Check("fi_getname", fi_getname(&peer.endpoint_->fid, name.data(), &length)));
  if (fi_av_insert(peers_.get(), name.data(), 1, &peer_, 0, nullptr) != 1) {
    return absl::InternalError("fi_av_insert failed");
  }
  target_key_ = fi_mr_key(peer.region_.get());
  target_address_ = peer.address_;
  return absl::OkStatus();
}

BurstOutcome RawEnd::Refused(std::size_t posted, int result) {
  if (result == -FI_EAGAIN) return {posted};
  error_ = Check("fi_writemsg", result);
  return {posted, true};
}

bool RawEnd::FailRead(int result) {
  fi_cq_err_entry entry{};
  if (result != -FI_EAVAIL || fi_cq_readerr(queue_.get(), &entry, 0) != 1) {
    error_ = Check("fi_cq_read", result);
  } else {
    error_ = absl::InternalError(
        absl::StrCat("a write failed: ", InstalledLibrary()->strerror(entry.err),
                     ", provider error ", entry.prov_errno));
  }
  return false;
}

bool RawEnd::FailKind(std::uint64_t flags) {
  error_ = absl::InternalError(absl::StrCat("a completion with flags ", flags));
  return false;
}

}  // namespace drydock::bench
