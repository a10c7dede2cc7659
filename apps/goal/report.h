// What a run of a schedule gives: a line for each rank, or for each of sixteen groups of them.

#ifndef DRYDOCK_APPS_GOAL_REPORT_H_
#define DRYDOCK_APPS_GOAL_REPORT_H_

#include <cstdint>
#include <string>

#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/goal/player.h"

namespace drydock::apps::goal {

struct Scene {
  std::string source;  // what was run
  std::string profile;
  std::uint64_t seed = 1;
  std::uint32_t nics = 1;
  bool flows = false;
  double seconds = 0;            // of processor time that it took
  std::uint64_t peak_bytes = 0;  // of memory
};

std::string Report(const PlayResult& result, const Scene& scene, OutputForm form);

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_REPORT_H_
