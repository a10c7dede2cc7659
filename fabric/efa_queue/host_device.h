// Marks functions that run on the host and on CUDA devices alike.
//
// Code so marked uses fixed-width integers, plain structs and plain arrays only: most of the
// standard library has no device version.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_HOST_DEVICE_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_HOST_DEVICE_H_

#if defined(__CUDACC__)
#define DD_HOST_DEVICE __host__ __device__
#else
#define DD_HOST_DEVICE
#endif

// On the path of every operation: inlined whatever the compiler's estimate of its size.
#define DD_HOT inline __attribute__((always_inline))

// Entered only when something is wrong: kept out of the caller's loop.
#if defined(__CUDACC__)
#define DD_COLD inline __attribute__((noinline))
#else
#define DD_COLD inline __attribute__((noinline, cold))
#endif

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_HOST_DEVICE_H_
