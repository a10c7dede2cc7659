// Data that a kernel stores for a NIC to send, or loads after a NIC wrote it: the bytes beside the
// queues.
//
//   StorePayload(&row[i], value);     a plain store: it may linger in the SM until a fence
//   team.Sync(); port.Put(...)        the put's doorbell fences what its threads stored
//   port.WaitSignal(...); port.MakeVisible(...)
//   LoadPayload(&row[i])              not from the first cache, which no NIC writes through
//
// A store by a thread that neither puts nor met the putting one at a barrier is fenced by its own
// thread, with SystemFence, before it tells the other one: a fence of the device's scope
// (__threadfence, or an atomic operation) is for the device's threads, and not for a NIC. On the
// stand-in such a store lingers where its seed wants it.

#ifndef DRYDOCK_GPU_GDA_DEVICE_PAYLOAD_H_
#define DRYDOCK_GPU_GDA_DEVICE_PAYLOAD_H_

#include <cstdint>
#include <cstring>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/gpu/gda/queue/device_ops.h"

namespace drydock::gpu::gda {

// 4 bytes, aligned.
DD_HOST_DEVICE DD_HOT void StorePayload(std::uint32_t* where, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  *where = value;
#else
  if (stand_in_stores != nullptr) {
    stand_in_stores->Store(where, value, sizeof(value));
  } else {
    *where = value;
  }
#endif
}
DD_HOST_DEVICE DD_HOT std::uint32_t LoadPayload(const std::uint32_t* where) {
#if defined(__CUDA_ARCH__)
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(where));
  return value;
#else
  if (stand_in_stores == nullptr) return *where;
  return static_cast<std::uint32_t>(stand_in_stores->Load(where, sizeof(*where)));
#endif
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_PAYLOAD_H_
