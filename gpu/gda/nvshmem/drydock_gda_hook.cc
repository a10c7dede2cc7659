#include "drydock/gpu/gda/nvshmem/drydock_gda_hook.h"

#include <cuda_runtime_api.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>

#include "drydock/gpu/gda/nvshmem/drydock_gda_device.h"
#include "drydock/gpu/gda/queue/queue.h"

#if __has_include(<rdma/fi_ext_efa.h>)
#include <rdma/fi_ext_efa.h>
#endif

namespace {

// The pages that were mapped, and where the device sees them.
struct Mapped {
  std::mutex mutex;
  std::map<std::uintptr_t, std::pair<std::uintptr_t, void*>> pages;  // begin: end, device
};

Mapped& AllMapped() {
  static Mapped* const mapped = new Mapped();
  return *mapped;
}

int Fail(int error, const char* what, const char* why) {
  std::fprintf(stderr, "drydock_gda: %s: %s\n", what, why);
  return -error;
}

#if defined(FI_EFA_GDA_OPS)

constexpr unsigned kHostMemory = cudaHostRegisterPortable | cudaHostRegisterMapped;
constexpr unsigned kNicMemory = kHostMemory | cudaHostRegisterIoMemory;

// Maps the whole pages around `address`, each once, and puts the device's address in its place.
template <typename T>
int Map(T*& address, std::size_t bytes, unsigned flags, const char* what) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t begin = first / page * page;
  const std::uintptr_t end = (first + bytes + page - 1) / page * page;
  Mapped& mapped = AllMapped();
  const std::lock_guard<std::mutex> lock(mapped.mutex);
  auto found = mapped.pages.find(begin);
  if (found == mapped.pages.end() || found->second.first < end) {
    void* const host = reinterpret_cast<void*>(begin);
    cudaError_t error = cudaHostRegister(host, end - begin, flags);
    if (error != cudaSuccess) return Fail(EIO, what, cudaGetErrorString(error));
    void* device = nullptr;
    error = cudaHostGetDevicePointer(&device, host, 0);
    if (error != cudaSuccess) {
      cudaHostUnregister(host);
      return Fail(EIO, what, cudaGetErrorString(error));
    }
    found = mapped.pages.insert_or_assign(begin, std::make_pair(end, device)).first;
  }
  address = reinterpret_cast<T*>(static_cast<char*>(found->second.second) + (first - begin));
  return 0;
}

int Query(fi_efa_ops_gda* ops, fid_ep* endpoint, fid_cq* cq, drydock::gpu::gda::QueueView& view) {
  fi_efa_wq_attr send{}, receive{};
  fi_efa_cq_attr done{};
  int error = ops->query_qp_wqs(endpoint, &send, &receive);
  if (error != 0) return Fail(-error, "query_qp_wqs", fi_strerror(-error));
  error = ops->query_cq(cq, &done);
  if (error != 0) return Fail(-error, "query_cq", fi_strerror(-error));
  view.send.entries = send.buffer;
  view.send.entry_count = send.num_entries;
  view.send.entry_bytes = send.entry_size;
  view.send.max_batch = send.max_batch;
  view.send.bell.word = send.doorbell;
  view.send_done.entries = done.buffer;
  view.send_done.entry_count = done.num_entries;
  view.send_done.entry_bytes = done.entry_size;
  const bool sound = view.send.entries != nullptr && view.send.bell.word != nullptr &&
                     view.send_done.entries != nullptr && view.send.max_batch != 0 &&
                     drydock::fabric::efa_queue::IsRingSize(view.send.entry_count) &&
                     drydock::fabric::efa_queue::IsRingSize(view.send_done.entry_count);
  if (!sound) return Fail(EIO, "query_qp_wqs", "the provider's queues are not mapped");
  view.send.max_batch = std::min<std::uint32_t>(view.send.max_batch, view.send.entry_count);
  // Requests of 64 or 128 bytes, completions of 16 or 32.
  const bool known = (view.send.entry_bytes == 64 || view.send.entry_bytes == 128) &&
                     (view.send_done.entry_bytes == 16 || view.send_done.entry_bytes == 32);
  return known ? 0 : Fail(EIO, "query_qp_wqs", "the provider's entries have unknown sizes");
}

int MapAll(drydock::gpu::gda::QueueView& view) {
  int error = Map(view.send.entries, std::size_t{view.send.entry_count} * view.send.entry_bytes,
                  kNicMemory, "map the send ring");
  if (error == 0) {
    error = Map(view.send.bell.word, sizeof(std::uint32_t), kNicMemory, "map the doorbell");
  }
  if (error == 0) {
    error = Map(view.send_done.entries,
                std::size_t{view.send_done.entry_count} * view.send_done.entry_bytes, kHostMemory,
                "map the completion ring");
  }
  return error;
}

#endif

}  // namespace

extern "C" int drydock_gda_init_on_ep(fid_domain* domain, fid_ep* endpoint, fid_cq* cq, int index) {
  if (index < 0 || index >= DRYDOCK_GDA_MAX_QUEUES) {
    return Fail(EINVAL, "init", "more endpoints than DRYDOCK_GDA_MAX_QUEUES");
  }
#if defined(FI_EFA_GDA_OPS)
  if (fi_version() < FI_VERSION(2, 3)) {
    return Fail(ENOSYS, "init", "libfabric 2.3 or later is needed");
  }
  fi_efa_ops_gda* ops = nullptr;
  int error = fi_open_ops(&domain->fid, FI_EFA_GDA_OPS, 0, reinterpret_cast<void**>(&ops), nullptr);
  if (error != 0 || ops == nullptr) {
    return Fail(ENOSYS, "fi_open_ops", "the domain's fabric must be efa-direct");
  }
  drydock::gpu::gda::QueueView view;
  error = Query(ops, endpoint, cq, view);
  if (error == 0) error = MapAll(view);
  if (error != 0) return error;
  const drydock::gpu::gda::QueueState state = drydock::gpu::gda::FreshState(view);
  if (drydock_gda_publish(&view, &state, index) != 0) {
    return Fail(EIO, "publish", "cudaMemcpyToSymbol failed");
  }
  return 0;
#else
  (void)domain;
  (void)endpoint;
  (void)cq;
  return Fail(ENOSYS, "init", "built with headers of libfabric that lack FI_EFA_GDA_OPS (2.3)");
#endif
}

extern "C" void drydock_gda_fini(void) {
  Mapped& mapped = AllMapped();
  const std::lock_guard<std::mutex> lock(mapped.mutex);
  // A kernel that comes too late finds no queue instead of memory that is gone.
  const drydock::gpu::gda::QueueView none;
  const drydock::gpu::gda::QueueState fresh;
  for (int index = 0; index < DRYDOCK_GDA_MAX_QUEUES && !mapped.pages.empty(); ++index) {
    drydock_gda_publish(&none, &fresh, index);
  }
  for (const auto& one : mapped.pages) cudaHostUnregister(reinterpret_cast<void*>(one.first));
  mapped.pages.clear();
}
