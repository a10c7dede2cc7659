// The calls themselves, where the headers have them.

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/libfabric/library.h"
#include "drydock/gpu/gda/libfabric_queue.h"

#if __has_include(<rdma/fi_ext_efa.h>)
#include <rdma/fi_ext_efa.h>
#endif

namespace drydock::gpu::gda {
namespace {

// Said wherever something is missing.
constexpr char kNeeds[] =
    "device-driven queues take libfabric 2.3 or later with the provider efa (its name for them is "
    "FI_EFA_GDA_OPS), and the fabric efa-direct";

std::string VersionText(std::uint32_t version) {
  return absl::StrCat(FI_MAJOR(version), ".", FI_MINOR(version));
}

}  // namespace

#if defined(FI_EFA_GDA_OPS)

namespace {

// Later libfabrics say more of a queue: whether its request ids have 64 bits.
template <typename Attributes>
bool HasLongRequestIds(const Attributes& attributes) {
  if constexpr (requires { attributes.caps; }) {
    return (attributes.caps & 1) != 0;
  } else {
    return false;
  }
}

class ProviderOps final : public GdaOps {
 public:
  explicit ProviderOps(fi_efa_ops_gda* ops) : ops_(ops) {}

  int QueryAddress(fid_ep* endpoint, std::uint64_t peer, PeerView& view) override {
    return ops_->query_addr(endpoint, peer, &view.address_handle, &view.queue_pair, &view.qkey);
  }
  int QueryWorkQueues(fid_ep* endpoint, WorkQueue& send, WorkQueue& receive) override {
    fi_efa_wq_attr sq{}, rq{};
    const int error = ops_->query_qp_wqs(endpoint, &sq, &rq);
    if (error != 0) return error;
    send = Told(sq);
    receive = Told(rq);
    return 0;
  }
  int QueryCompletionQueue(fid_cq* queue, DoneQueue& view) override {
    fi_efa_cq_attr cq{};
    const int error = ops_->query_cq(queue, &cq);
    view = {cq.buffer, cq.entry_size, cq.num_entries};
    return error;
  }
  std::uint64_t LocalKey(fid_mr* region) override { return ops_->get_mr_lkey(region); }

 private:
  static WorkQueue Told(const fi_efa_wq_attr& attributes) {
    return {attributes.buffer,   attributes.entry_size, attributes.num_entries,
            attributes.doorbell, attributes.max_batch,  HasLongRequestIds(attributes)};
  }

  fi_efa_ops_gda* ops_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GdaOps>> OpenGdaOps(fid_domain* domain) {
  // An older library would answer with a shorter table.
  const fabric::libfabric::Library& library = *fabric::libfabric::InstalledLibrary();
  if (FI_VERSION_LT(library.version(), FI_VERSION(2, 3))) {
    return absl::UnimplementedError(
        absl::StrCat("this is libfabric ", VersionText(library.version()), ": ", kNeeds));
  }
  fi_efa_ops_gda* ops = nullptr;
  const int error =
      fi_open_ops(&domain->fid, FI_EFA_GDA_OPS, 0, reinterpret_cast<void**>(&ops), nullptr);
  if (error != 0 || ops == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("fi_open_ops: ", library.strerror(-error), ": ", kNeeds));
  }
  return std::make_unique<ProviderOps>(ops);
}

#else

absl::StatusOr<std::unique_ptr<GdaOps>> OpenGdaOps(fid_domain*) {
  return absl::UnimplementedError(
      absl::StrCat("this program was built with the headers of libfabric ",
                   VersionText(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)), ": ", kNeeds));
}

#endif

}  // namespace drydock::gpu::gda
