// Sets of CPUs, in the two notations of the field: lists ("0-47,96-143", as Linux and numactl write
// them) and hwloc's masks ("0x0000ffff,0xffffffff").

#ifndef DRYDOCK_GPU_TOPOLOGY_CPU_LIST_H_
#define DRYDOCK_GPU_TOPOLOGY_CPU_LIST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::gpu::topology {

// Numbers of the operating system, ascending, each once.
using CpuList = std::vector<int>;

// More than any machine has: a text that names a higher one is refused.
inline constexpr int kMaxCpus = 65536;

// "0-3,8"; an empty set is an empty text.
std::string FormatCpuList(const CpuList& cpus);
// kInvalidArgument: not such a list, or a number that is not below kMaxCpus.
absl::StatusOr<CpuList> ParseCpuList(absl::string_view text);

// Words of 32 CPUs, the highest first: "0x00000001,,0x0000000f". An empty word has no CPU.
std::string FormatCpuMask(const CpuList& cpus);
// kInvalidArgument as above, and for a mask without an end ("0xf...f").
absl::StatusOr<CpuList> ParseCpuMask(absl::string_view text);

// `parts` sets that share the CPUs as evenly as it goes. Each run of consecutive numbers is shared
// by itself: Linux numbers the second threads of all cores after the first ones, so that with
// "0-47,96-143" both threads of a core stay together. Runs of fewer CPUs than parts are shared
// together, as on machines that number the CPUs of two NUMA nodes by turns ("0,2,4,6"). None is
// empty where there is a CPU: with more parts than CPUs, some are in several.
std::vector<CpuList> SplitCpus(const CpuList& cpus, std::size_t parts);

}  // namespace drydock::gpu::topology

#endif  // DRYDOCK_GPU_TOPOLOGY_CPU_LIST_H_
