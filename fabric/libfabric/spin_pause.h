// A moment for other users of this processor core, or of the cache lines that a polling loop reads.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_SPIN_PAUSE_H_
#define DRYDOCK_FABRIC_LIBFABRIC_SPIN_PAUSE_H_

namespace drydock::fabric::libfabric {

// 10 to 50 ns, by processor. Does nothing where the instruction is not known.
inline void SpinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_SPIN_PAUSE_H_
