// The queues as kernels find them, and a kernel that puts through one, to see that it works.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "drydock/gpu/gda/nvshmem/drydock_gda_device.h"
#include "drydock/gpu/gda/nvshmem/drydock_gda_hook.h"
#include "drydock/gpu/gda/queue/channel.h"

// A queue that was not published has no entries.
__device__ drydock::gpu::gda::QueueView drydock_gda_queues[DRYDOCK_GDA_MAX_QUEUES];
__device__ drydock::gpu::gda::QueueState drydock_gda_states[DRYDOCK_GDA_MAX_QUEUES];

int drydock_gda_publish(const drydock::gpu::gda::QueueView* view,
                        const drydock::gpu::gda::QueueState* state, int index) {
  const std::size_t number = static_cast<std::size_t>(index);
  cudaError_t error = cudaMemcpyToSymbol(drydock_gda_queues, view, sizeof(*view),
                                         number * sizeof(*view), cudaMemcpyHostToDevice);
  if (error == cudaSuccess) {
    error = cudaMemcpyToSymbol(drydock_gda_states, state, sizeof(*state), number * sizeof(*state),
                               cudaMemcpyHostToDevice);
  }
  return static_cast<int>(error);
}

// One block, one thread of which puts `n` bytes from `src` to `raddr`, and waits. `peer` is what
// query_addr says of it. result[0]: gpu::gda::Outcome, 255 where the queue was not published;
// result[1]: EFA's status.
extern "C" __global__ void drydock_gda_test_put_kernel(void* raddr, const void* src, std::size_t n,
                                                       std::uint32_t lkey, std::uint32_t rkey,
                                                       drydock::gpu::gda::PeerView peer, int index,
                                                       std::uint64_t timeout_ns,
                                                       std::uint32_t* result) {
  if (threadIdx.x != 0 || blockIdx.x != 0) return;
  drydock::gpu::gda::ChannelView view;
  view.queue = drydock_gda_queues[index];
  view.queue_state = &drydock_gda_states[index];
  view.peer = peer;
  if (view.queue.send.entry_count == 0) {
    result[0] = 255;
    return;
  }
  drydock::gpu::gda::Transfer transfer;
  transfer.length = static_cast<std::uint32_t>(n);
  transfer.lkey = lkey;
  transfer.rkey = rkey;
  transfer.local = reinterpret_cast<std::uint64_t>(src);
  transfer.remote = reinterpret_cast<std::uint64_t>(raddr);
  drydock::gpu::gda::Channel<false> channel(view, timeout_ns);
  result[0] = static_cast<std::uint32_t>(channel.Put(transfer));
  result[1] = channel.status();
  channel.Save();
}
