// Kinds of memory, contexts of threads and forks, as they hurt a program that registers a GPU's
// memory: the same cases on the stand-in and on a GPU, each with the verdict that both must give.

#ifndef DRYDOCK_APPS_DMABUF_KINDS_H_
#define DRYDOCK_APPS_DMABUF_KINDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/memory_driver.h"

namespace drydock::apps::dmabuf {

// A GPU, or its stand-in, as a case sees it: its driver call by call, and the device that programs
// use. The calling thread's context is the primary one when a case begins.
struct KindGpu {
  gpu::MemoryDriver& driver;
  gpu::Device& device;
};

struct KindCase {
  const char* what;      // is done
  const char* expected;  // on any GPU, and on the stand-in
  // What happened; an error: something that the case needs is not there. Leaves memory behind: each
  // process forgets it.
  absl::StatusOr<std::string> (*run)(KindGpu& gpu);
};

// Ordered by what hurts: contexts, virtual memory, parts, freed memory, managed and host memory,
// forks, registration with a simulated NIC.
const std::vector<KindCase>& KindCases();

// What each case said of one GPU, in the order of KindCases.
using Verdicts = std::vector<std::string>;

// Runs every case on --device=`device` (host, cuda:N), each in a process of its own that opens the
// GPU by itself: CUDA outlives no fork, and a case that ends its process or does not end (30 s) is
// a verdict like others. REQUIRES: this process has opened no GPU, and has one thread. kNotFound
// and kInvalidArgument: there is no such device, as apps::ChooseDevice says.
absl::StatusOr<Verdicts> RunKindCases(const std::string& device);

}  // namespace drydock::apps::dmabuf

#endif  // DRYDOCK_APPS_DMABUF_KINDS_H_
