#include "drydock/apps/batch/pinning.h"

#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace drydock::apps::batch {

void PinThisThreadToNode(int numa_node) {
  if (numa_node < 0) return;
  // "0-3,8-11", as Linux lists them.
  std::ifstream file(absl::StrCat("/sys/devices/system/node/node", numa_node, "/cpulist"));
  std::string list;
  if (!std::getline(file, list)) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const std::string& range : std::vector<std::string>(absl::StrSplit(list, ','))) {
    const std::vector<std::string> ends = absl::StrSplit(range, '-');
    int first = 0;
    int last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) return;
    for (int cpu = first; cpu >= 0 && cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &cpus);
  }
  if (CPU_COUNT(&cpus) > 0) sched_setaffinity(0, sizeof cpus, &cpus);
}

}  // namespace drydock::apps::batch
