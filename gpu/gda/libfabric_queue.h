// The queue of an EFA NIC, for a device to drive: what libfabric's provider efa tells of its own.
//
// libfabric has had the calls (fi_open_ops with FI_EFA_GDA_OPS) since 2.3, for the fabric
// efa-direct (ofiwg/libfabric prov/efa/src/fi_ext_efa.h, man/fi_efa.7.md). Headers that lack them
// make every function here say so.

#ifndef DRYDOCK_GPU_GDA_LIBFABRIC_QUEUE_H_
#define DRYDOCK_GPU_GDA_LIBFABRIC_QUEUE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/gda/queue/queue.h"

struct fid_cq;
struct fid_domain;
struct fid_ep;
struct fid_mr;

namespace drydock::gpu::gda {

// Those calls, so that a test can stand in for the library. Each returns 0 or a negative errno of
// libfabric. Threads: as the library.
class GdaOps {
 public:
  struct WorkQueue {
    void* buffer = nullptr;
    std::uint32_t entry_bytes = 0;
    std::uint32_t entry_count = 0;
    std::uint32_t* doorbell = nullptr;
    std::uint32_t max_batch = 0;
    bool long_request_ids = false;
  };
  struct DoneQueue {
    void* buffer = nullptr;
    std::uint32_t entry_bytes = 0;
    std::uint32_t entry_count = 0;
  };
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

  virtual ~GdaOps() = default;
  // How work requests name `peer` of the endpoint's address vector. An error leaves `view` as it
  // was; -FI_EINVAL: there is no such peer.
  virtual int QueryAddress(fid_ep* endpoint, std::uint64_t peer, PeerView& view) = 0;
  // The rings of an enabled endpoint, mapped into the process. They are valid until it closes.
  virtual int QueryWorkQueues(fid_ep* endpoint, WorkQueue& send, WorkQueue& receive) = 0;
  // The ring of a queue, mapped likewise; valid until the queue closes.
  virtual int QueryCompletionQueue(fid_cq* queue, DoneQueue& view) = 0;
  // kNoKey: there is none.
  virtual std::uint64_t LocalKey(fid_mr* region) = 0;
};

// Of an open domain. kUnimplemented: this program's headers, the library or the domain's fabric do
// not have them; the message says which libfabric and which fabric do. REQUIRES: libfabric can be
// loaded (fabric/libfabric/library.h), as it could for whoever opened the domain.
absl::StatusOr<std::unique_ptr<GdaOps>> OpenGdaOps(fid_domain* domain);

// The queues of an enabled endpoint that was bound to these completion queues: host addresses.
// kInternal: the library's error, or queues that no device could drive.
absl::StatusOr<QueueView> QueryQueue(GdaOps& ops, fid_ep* endpoint, fid_cq* send_done,
                                     fid_cq* receive_done);
// How work requests name a peer of the endpoint's address vector. kNotFound: it is not there.
absl::StatusOr<PeerView> QueryPeer(GdaOps& ops, fid_ep* endpoint, std::uint64_t peer);
// What work requests take as the local key of a region, which its descriptor does not tell.
absl::StatusOr<std::uint32_t> QueryLocalKey(GdaOps& ops, fid_mr* region);

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_LIBFABRIC_QUEUE_H_
