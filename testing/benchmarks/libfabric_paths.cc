#include "testing/benchmarks/libfabric_paths.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"
#include "fabric/libfabric/api.h"
#include "fabric/libfabric/libfabric_fabric.h"
#include "fabric/libfabric/provider_selection.h"
#include "testing/benchmarks/contract_path.h"
#include "testing/benchmarks/write_loop.h"

namespace bench {
namespace {

using fabric::libfabric::NicChoice;

struct CloseFid {
  template <typename Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <typename Object>
using Owned = std::unique_ptr<Object, CloseFid>;

// Takes what an fi_..._open call returned by pointer.
template <typename Object, typename Open>
absl::Status Own(Owned<Object>& owner, const char* call, Open open) {
  Object* object = nullptr;
  const int result = open(&object);
  if (result != 0) return absl::InternalError(absl::StrCat(call, ": ", fi_strerror(-result)));
  owner.reset(object);
  return absl::OkStatus();
}

absl::Status Check(const char* call, int result) {
  if (result == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", fi_strerror(-result)));
}

// One endpoint and what it needs, closed in reverse order.
struct RawEnd {
  Owned<fid_fabric> fabric;
  Owned<fid_domain> domain;
  Owned<fid_cq> queue;
  Owned<fid_av> peers;
  Owned<fid_mr> region;
  Owned<fid_ep> endpoint;
};

absl::Status Register(RawEnd& end, const fi_info& info, const std::byte* memory,
                      std::size_t length_bytes) {
  iovec range{const_cast<std::byte*>(memory), length_bytes};
  fi_mr_attr attributes{};
  attributes.mr_iov = &range;
  attributes.iov_count = 1;
  attributes.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if ((info.domain_attr->mr_mode & FI_MR_PROV_KEY) == 0) attributes.requested_key = 1;
  return Own(end.region, "fi_mr_regattr", [&](fid_mr** region) {
    return fi_mr_regattr(end.domain.get(), &attributes, 0, region);
  });
}

// The attributes are those that our backend uses, but for the format of completions: ours leaves
// room for tags, which a program that sends none would not ask for. What that costs is part of the
// layer.
absl::StatusOr<RawEnd> OpenEnd(fi_info& info, const std::byte* memory, std::size_t length_bytes) {
  RawEnd end;
  RETURN_IF_ERROR(Own(end.fabric, "fi_fabric", [&](fid_fabric** fabric) {
    return fi_fabric(info.fabric_attr, fabric, nullptr);
  }));
  RETURN_IF_ERROR(Own(end.domain, "fi_domain", [&](fid_domain** domain) {
    return fi_domain(end.fabric.get(), &info, domain, nullptr);
  }));
  fi_cq_attr queue{};
  queue.size = info.tx_attr->size + info.rx_attr->size;
  queue.format = FI_CQ_FORMAT_DATA;
  queue.wait_obj = FI_WAIT_NONE;
  RETURN_IF_ERROR(Own(end.queue, "fi_cq_open", [&](fid_cq** opened) {
    return fi_cq_open(end.domain.get(), &queue, opened, nullptr);
  }));
  fi_av_attr peers{};
  peers.type = FI_AV_TABLE;
  RETURN_IF_ERROR(Own(end.peers, "fi_av_open", [&](fid_av** opened) {
    return fi_av_open(end.domain.get(), &peers, opened, nullptr);
  }));
  RETURN_IF_ERROR(Register(end, info, memory, length_bytes));
  RETURN_IF_ERROR(Own(end.endpoint, "fi_endpoint", [&](fid_ep** endpoint) {
    return fi_endpoint(end.domain.get(), &info, endpoint, nullptr);
  }));
  fid_ep* const endpoint = end.endpoint.get();
  RETURN_IF_ERROR(
      Check("fi_ep_bind", fi_ep_bind(endpoint, &end.queue->fid, FI_TRANSMIT | FI_RECV)));
  RETURN_IF_ERROR(Check("fi_ep_bind", fi_ep_bind(endpoint, &end.peers->fid, 0)));
  RETURN_IF_ERROR(Check("fi_enable", fi_enable(endpoint)));
  return end;
}

// Makes `to` known to `from`.
absl::StatusOr<fi_addr_t> Insert(RawEnd& from, RawEnd& to) {
  std::array<std::uint8_t, 256> name;
  std::size_t length = name.size();
  RETURN_IF_ERROR(Check("fi_getname", fi_getname(&to.endpoint->fid, name.data(), &length)));
  fi_addr_t peer = FI_ADDR_UNSPEC;
  const int inserted = fi_av_insert(from.peers.get(), name.data(), 1, &peer, 0, nullptr);
  if (inserted != 1) return absl::InternalError("fi_av_insert failed");
  return peer;
}

class RawLibfabricPath final : public WritePath {
 public:
  static absl::StatusOr<std::unique_ptr<WritePath>> Open(const std::string& provider,
                                                         const Buffers& buffers) {
    auto nics = fabric::libfabric::SelectNics(fabric::libfabric::RealApi(), provider);
    if (!nics.ok()) return nics.status();
    std::unique_ptr<RawLibfabricPath> path(new RawLibfabricPath(provider, nics->front(), buffers));
    RETURN_IF_ERROR(path->Connect());
    return absl::StatusOr<std::unique_ptr<WritePath>>(std::move(path));
  }

  std::string name() const override { return name_; }

  absl::Status Write(const Shape& shape, std::uint64_t count) override {
    if (contexts_.size() < shape.window) contexts_.resize(shape.window);
    return WriteInWindows(*this, shape, count);
  }

  PostOutcome Post(std::size_t slot, std::size_t bytes) {
    const std::size_t offset = slot * bytes;
    iovec source{buffers_.source() + offset, bytes};
    fi_rma_iov target{target_address_ + offset, bytes, target_key_};
    const fi_msg_rma message{&source, &descriptor_, 1, peer_, &target, 1, &contexts_[slot], slot};
    const ssize_t result = fi_writemsg(initiator_.endpoint.get(), &message, FI_REMOTE_CQ_DATA);
    if (result == 0) return PostOutcome::kPosted;
    if (result == -FI_EAGAIN) return PostOutcome::kAgain;
    error_ = Check("fi_writemsg", static_cast<int>(result));
    return PostOutcome::kFailed;
  }
  PollOutcome PollInitiator() {
    return Poll(initiator_.queue.get(), [this](const fi_cq_data_entry& sent, PollOutcome& outcome) {
      if ((sent.flags & FI_WRITE) == 0) return false;
      outcome.names +=
          static_cast<std::size_t>(static_cast<fi_context2*>(sent.op_context) - contexts_.data());
      return true;
    });
  }
  PollOutcome PollTarget() {
    return Poll(target_.queue.get(), [](const fi_cq_data_entry& arrived, PollOutcome& outcome) {
      constexpr std::uint64_t kWanted = FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
      if ((arrived.flags & kWanted) != kWanted) return false;
      outcome.names += arrived.data;
      outcome.bytes += arrived.len;
      return true;
    });
  }
  void Idle() {}
  absl::Status error() const { return error_; }

 private:
  RawLibfabricPath(const std::string& provider, NicChoice nic, const Buffers& buffers)
      : name_(absl::StrCat(provider, ", raw calls")), nic_(std::move(nic)), buffers_(buffers) {}

  absl::Status Connect() {
    ASSIGN_OR_RETURN(initiator_, OpenEnd(*nic_.info, buffers_.source(), buffers_.length_bytes()));
    ASSIGN_OR_RETURN(target_, OpenEnd(*nic_.info, buffers_.target(), buffers_.length_bytes()));
    ASSIGN_OR_RETURN(peer_, Insert(initiator_, target_));
    RETURN_IF_ERROR(Insert(target_, initiator_).status());
    descriptor_ = fi_mr_desc(initiator_.region.get());
    target_key_ = fi_mr_key(target_.region.get());
    const bool virtual_address = (nic_.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    target_address_ = virtual_address ? reinterpret_cast<std::uint64_t>(buffers_.target()) : 0;
    return absl::OkStatus();
  }

  // `count(entry, outcome)` adds an entry to the outcome; false: it is of another kind.
  template <typename Count>
  PollOutcome Poll(fid_cq* queue, Count count) {
    std::array<fi_cq_data_entry, 16> entries;  // filled by the library
    PollOutcome outcome;
    const ssize_t got = fi_cq_read(queue, entries.data(), entries.size());
    if (got <= 0) {
      if (got != 0 && got != -FI_EAGAIN) [[unlikely]] {
        error_ = ReadError(queue, static_cast<int>(got));
        outcome.failed = true;
      }
      return outcome;
    }
    outcome.completions = static_cast<std::size_t>(got);
    for (std::size_t i = 0; i < outcome.completions; ++i) {
      if (!count(entries[i], outcome)) [[unlikely]] {
        error_ = absl::InternalError(absl::StrCat("a completion with flags ", entries[i].flags));
        outcome.failed = true;
      }
    }
    return outcome;
  }

  static absl::Status ReadError(fid_cq* queue, int result) {
    fi_cq_err_entry entry{};
    if (result != -FI_EAVAIL || fi_cq_readerr(queue, &entry, 0) != 1) {
      return Check("fi_cq_read", result);
    }
    return absl::InternalError(absl::StrCat("a write failed: ", fi_strerror(entry.err),
                                            ", provider error ", entry.prov_errno));
  }

  const std::string name_;
  const NicChoice nic_;
  const Buffers& buffers_;
  RawEnd initiator_;
  RawEnd target_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  void* descriptor_ = nullptr;
  std::uint64_t target_key_ = 0;
  std::uint64_t target_address_ = 0;
  std::vector<fi_context2> contexts_;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WritePath>> OpenRawLibfabricPath(const std::string& provider,
                                                                const Buffers& buffers) {
  return RawLibfabricPath::Open(provider, buffers);
}

absl::StatusOr<std::unique_ptr<WritePath>> OpenLibfabricBackendPath(const std::string& provider,
                                                                    const Buffers& buffers) {
  ASSIGN_OR_RETURN(auto opened, fabric::libfabric::OpenLibfabric(provider));
  const std::shared_ptr<fabric::Fabric> shared = std::move(opened);
  ContractBackend backend{
      .name = absl::StrCat(provider, ", our backend"), .initiator = shared, .target = shared};
  return ContractPath::Open(std::move(backend), buffers);
}

}  // namespace bench
