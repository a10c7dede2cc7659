// Published figures of EFA that a prediction can be held to: what was run, where, and how fast it
// was. Some are what the profiles were fitted to, the others were not looked at.

#ifndef SIM_MODEL_PUBLISHED_H_
#define SIM_MODEL_PUBLISHED_H_

#include <span>

#include "sim/model/workload.h"

namespace sim::model {

struct PublishedFigure {
  const char* name;     // a few words
  const char* profile;  // of the machines
  Workload workload;
  double gbps;         // Gbit/s of payload; over the whole run, where the workload has an end
  const char* source;  // repository and file, or paper
};

// How 32 NICs of a p5.48xlarge came to their full rate, step by step, each with one change to the
// program. Fitted. Static storage, as all of these.
std::span<const PublishedFigure> Staircase();

// Two NICs of a p5en.48xlarge, for one GPU: one write at a time, and paged writes. Fitted.
std::span<const PublishedFigure> TransferEngine();

// Not fitted, but for the first: what a packet carries beside its payload was chosen by it.
std::span<const PublishedFigure> OtherFigures();

}  // namespace sim::model

#endif  // SIM_MODEL_PUBLISHED_H_
