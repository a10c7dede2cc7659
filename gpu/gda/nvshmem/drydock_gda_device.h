// Between the host's and the device's part of the hook.

#ifndef DRYDOCK_GPU_GDA_NVSHMEM_DRYDOCK_GDA_DEVICE_H_
#define DRYDOCK_GPU_GDA_NVSHMEM_DRYDOCK_GDA_DEVICE_H_

#include "drydock/gpu/gda/queue/queue.h"

// Copies both to the current device: drydock_gda_queues[index] and drydock_gda_states[index]. 0, or
// CUDA's error.
int drydock_gda_publish(const drydock::gpu::gda::QueueView* view,
                        const drydock::gpu::gda::QueueState* state, int index);

#endif  // DRYDOCK_GPU_GDA_NVSHMEM_DRYDOCK_GDA_DEVICE_H_
