// Memory in whole pages, which can be bound to a NUMA node, and a thread that can be bound to CPUs.

#ifndef DRYDOCK_APPS_AFFINITY_PAGES_H_
#define DRYDOCK_APPS_AFFINITY_PAGES_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/topology/cpu_list.h"

namespace drydock::apps::affinity {

// Zero bytes, aligned to pages, not yet touched. Movable; unmaps.
class Pages {
 public:
  // kResourceExhausted: the system has no such piece of memory.
  static absl::StatusOr<Pages> Map(std::size_t length_bytes);

  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  std::span<std::byte> bytes() const { return {data_, length_}; }

  // The system is to take these pages from this NUMA node and from no other, when they are touched.
  // kFailedPrecondition: it refuses; the message says why.
  absl::Status BindTo(int numa_node);

 private:
  Pages(std::byte* data, std::size_t length) : data_(data), length_(length) {}

  std::byte* data_ = nullptr;
  std::size_t length_ = 0;
};

// The calling thread runs on these CPUs from now on, and on no other. kFailedPrecondition: the
// system refuses, as a container may; the message says why. REQUIRES: there is a CPU.
absl::Status PinThisThread(const gpu::topology::CpuList& cpus);

}  // namespace drydock::apps::affinity

#endif  // DRYDOCK_APPS_AFFINITY_PAGES_H_
