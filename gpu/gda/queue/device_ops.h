// The few things that host threads and CUDA threads do differently: fences, doorbells, waiting,
// atomics.

#ifndef DRYDOCK_GPU_GDA_QUEUE_DEVICE_OPS_H_
#define DRYDOCK_GPU_GDA_QUEUE_DEVICE_OPS_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/words.h"

#if !defined(__CUDA_ARCH__)
#include <sched.h>
#include <time.h>

#include "drydock/gpu/gda/queue/stand_in_stores.h"
#endif

// Before a loop whose arrays are to be registers of a GPU's thread.
#if defined(__CUDA_ARCH__)
#define GDA_UNROLL _Pragma("unroll")
#else
#define GDA_UNROLL
#endif

// A function that a GPU's kernels call: where it were part of each caller, the driver would compile
// a kernel for half a minute.
#if defined(__CUDACC__)
#define GDA_APART __noinline__
#else
#define GDA_APART
#endif

namespace drydock::gpu::gda {

// Every store of this thread before it is visible to the NIC before any store after it. On a GPU,
// stores to the NIC and to host memory may pass each other without it (not __threadfence_system(),
// which orders more than that, and takes longer); on the host it drains write-combining buffers,
// which the stores of a ring in the NIC's memory sit in.
DD_HOST_DEVICE DD_HOT void SystemFence() {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
  if (stand_in_stores != nullptr) stand_in_stores->Fence();
#if defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dmb oshst" ::: "memory");
#endif
#endif
}

// One store of 32 bits after a SystemFence: what was stored before the fence is visible to a reader
// that sees it. On a GPU a second fence would come with StoreBell, at a quarter of what a blocking
// put takes.
DD_HOST_DEVICE DD_HOT void StoreFencedBell(std::uint32_t* word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#else
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}

// The same, with what was stored before it visible to a reader that sees it.
DD_HOST_DEVICE DD_HOT void StoreBell(std::uint32_t* word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#else
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}

// A word that another processor stores with StoreBell or PublishWord.
DD_HOST_DEVICE DD_HOT std::uint32_t LoadShared(const std::uint32_t* word) {
#if defined(__CUDA_ARCH__)
  std::uint32_t value;
  asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
#else
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

// The low half of a word that another processor publishes, for a reader that looks at several
// before it decides: on a GPU all of them are under way at once, and AcquireLoaded() makes visible
// what came with them.
DD_HOST_DEVICE DD_HOT std::uint32_t LoadAhead(const void* entry) {
#if defined(__CUDA_ARCH__)
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(entry));
  return value;
#else
  return static_cast<std::uint32_t>(fabric::efa_queue::LoadPublishedWord(entry, 0));
#endif
}
DD_HOST_DEVICE DD_HOT void AcquireLoaded() {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#endif
}

// The same for a whole word.
DD_HOST_DEVICE DD_HOT std::uint64_t LoadAheadWord(const void* entry, unsigned word) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];"
               : "=l"(value)
               : "l"(static_cast<const std::uint64_t*>(entry) + word));
  return value;
#else
  return fabric::efa_queue::LoadPublishedWord(entry, word);
#endif
}

// Between two looks at something that another processor changes.
DD_HOST_DEVICE inline void Relax() {
#if defined(__CUDA_ARCH__)
  __nanosleep(20);
#else
  sched_yield();
#endif
}

// A clock that goes on by itself. Only differences mean something.
DD_HOST_DEVICE inline std::uint64_t Nanoseconds() {
#if defined(__CUDA_ARCH__)
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

// How long a loop may go on: a kernel that nothing ends would hold its GPU for ever. Looks at the
// clock now and then only.
class Patience {
 public:
  // 0 nanoseconds: for ever.
  DD_HOST_DEVICE DD_HOT explicit Patience(std::uint64_t nanoseconds) : limit_(nanoseconds) {}

  // Waits for a moment; true when it is over.
  DD_HOST_DEVICE DD_HOT bool Over() { return ++looks_ % 64 == 0 && OverByTheClock(); }

 private:
  DD_HOST_DEVICE DD_HOT bool OverByTheClock() {
#if !defined(__CUDA_ARCH__)
    Relax();  // as many threads as there are share few processors
#endif
    if (limit_ == 0) return false;
    if (start_ == 0) start_ = Nanoseconds();
    return Nanoseconds() - start_ > limit_;
  }

  std::uint64_t limit_;
  std::uint64_t start_ = 0;  // the first look at the clock
  std::uint32_t looks_ = 0;
};

// ---- Between threads of one device ----

DD_HOST_DEVICE inline std::uint32_t FetchAdd(std::uint32_t* word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t before = atomicAdd(word, value);
  __threadfence();
  return before;
#else
  return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
#endif
}

// The same for threads of all devices of this machine.
DD_HOST_DEVICE inline std::uint32_t FetchAddSystem(std::uint32_t* word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  SystemFence();
  const std::uint32_t before = atomicAdd_system(word, value);
  SystemFence();
  return before;
#else
  return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
#endif
}

// The same after a DeviceFence, or in no order with anything else.
DD_HOST_DEVICE DD_HOT std::uint32_t FetchAddFenced(std::uint32_t* word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(word, value);
#else
  return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
#endif
}

// Every store of this thread before it is visible to threads of its device that see a store after
// it. Not to a NIC: that takes a SystemFence.
DD_HOST_DEVICE DD_HOT void DeviceFence() {
#if defined(__CUDA_ARCH__)
  __threadfence();
#endif
}
// A word that other threads of the device look at with LoadShared, stored after a DeviceFence.
DD_HOST_DEVICE DD_HOT void StoreFencedWord(std::uint32_t* word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#else
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}
// A word that threads of the same device store.
DD_HOST_DEVICE DD_HOT std::uint32_t LoadWord32(const std::uint32_t* word) {
#if defined(__CUDA_ARCH__)
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
#else
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

// The same for a reader that looks at several before a DeviceFence makes visible what came with
// them.
DD_HOST_DEVICE DD_HOT std::uint32_t LoadRelaxed(const std::uint32_t* word) {
#if defined(__CUDA_ARCH__)
  std::uint32_t value;
  asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word));
  return value;
#else
  return LoadWord32(word);
#endif
}

// Takes a lock that is a word, if it is free.
DD_HOST_DEVICE inline bool TryLock(std::uint32_t* word) {
#if defined(__CUDA_ARCH__)
  const bool taken = atomicCAS(word, 0u, 1u) == 0;
  __threadfence();
  return taken;
#else
  std::uint32_t free = 0;
  return __atomic_compare_exchange_n(word, &free, 1u, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
#endif
}

DD_HOST_DEVICE inline void Unlock(std::uint32_t* word) { StoreBell(word, 0); }

// The same between threads of one device only, without a fence of the whole system.
DD_HOST_DEVICE DD_HOT bool TryLockOnDevice(std::uint32_t* word) {
#if defined(__CUDA_ARCH__)
  std::uint32_t before;
  asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], 0, 1;" : "=r"(before) : "l"(word) : "memory");
  return before == 0;
#else
  return TryLock(word);
#endif
}
DD_HOST_DEVICE DD_HOT void UnlockOnDevice(std::uint32_t* word) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(word), "r"(0) : "memory");
#else
  Unlock(word);
#endif
}

// ---- How stores reach a NIC ----

// The stores of a device as they are. A test replaces this by a device whose stores linger.
struct DirectStores {
  DD_HOST_DEVICE DD_HOT void Entry(void* slot, const void* entry, unsigned bytes) {
    fabric::efa_queue::CopyToDeviceRing(slot, entry, bytes);
  }
  DD_HOST_DEVICE DD_HOT void Fence() { SystemFence(); }
  DD_HOST_DEVICE DD_HOT void Bell(std::uint32_t* word, std::uint32_t value) {
    StoreFencedBell(word, value);
  }
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_DEVICE_OPS_H_
