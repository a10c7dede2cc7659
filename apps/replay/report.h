// What a replay came to, for a person and for a script.

#ifndef DRYDOCK_APPS_REPLAY_REPORT_H_
#define DRYDOCK_APPS_REPLAY_REPORT_H_

#include <string>

#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/steer.h"

namespace drydock::apps::replay {

// How it was done.
struct Scene {
  std::string fabric;  // efa-direct, efa
  std::string profile;
  std::uint64_t seed = 1;
  bool recorded_times = true;
  bool keep_order = true;
};

// Tables of operations, order and memory; ends with the verdict. Whole lines.
std::string TextReport(const sim::capture::Capture& capture, const sim::capture::Steered& steered,
                       const Scene& scene);

// The same as one JSON object, and a line break.
std::string JsonReport(const sim::capture::Capture& capture, const sim::capture::Steered& steered,
                       const Scene& scene);

// A line for each region: its content at the end.
std::string CsvReport(const sim::capture::Capture& capture, const sim::capture::Steered& steered);

}  // namespace drydock::apps::replay

#endif  // DRYDOCK_APPS_REPLAY_REPORT_H_
