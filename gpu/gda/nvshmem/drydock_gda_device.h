// Between the host's and the device's part of the hook.

#ifndef GPU_GDA_NVSHMEM_DRYDOCK_GDA_DEVICE_H_
#define GPU_GDA_NVSHMEM_DRYDOCK_GDA_DEVICE_H_

#include "gpu/gda/queue.h"

// Copies both to the current device: drydock_gda_queues[index] and drydock_gda_states[index]. 0, or
// CUDA's error.
int drydock_gda_publish(const gpu::gda::QueueView* view, const gpu::gda::QueueState* state,
                        int index);

#endif  // GPU_GDA_NVSHMEM_DRYDOCK_GDA_DEVICE_H_
