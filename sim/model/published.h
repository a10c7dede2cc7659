// Published figures of EFA to compare predictions with: the workload, the machine and the speed.
// The profiles were fitted to some of them; the greater half was not looked at for that.

#ifndef DRYDOCK_SIM_MODEL_PUBLISHED_H_
#define DRYDOCK_SIM_MODEL_PUBLISHED_H_

#include <span>

#include "drydock/sim/model/workload.h"

namespace drydock::sim::model {

struct PublishedFigure {
  const char* name;     // a few words
  const char* profile;  // of the machines
  Workload workload;
  double gbps;         // Gbit/s of payload; over the whole run, where the workload has an end
  const char* source;  // repository and file, or paper
  bool fitted;         // a figure of the profile was chosen by it
};

// How 32 NICs of a p5.48xlarge came to their full rate, step by step, each with one change to the
// program. Fitted. Static storage, as the others.
std::span<const PublishedFigure> Staircase();

// All of them, the staircase first. Figures that depend on more than NICs and threads are left out:
// software protocols, collectives over NVLink, and programs whose own work is the limit.
std::span<const PublishedFigure> PublishedFigures();

}  // namespace drydock::sim::model

#endif  // DRYDOCK_SIM_MODEL_PUBLISHED_H_
