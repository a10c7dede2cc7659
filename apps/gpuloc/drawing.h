// A machine's topology as a drawing.

#ifndef DRYDOCK_APPS_GPULOC_DRAWING_H_
#define DRYDOCK_APPS_GPULOC_DRAWING_H_

#include <string>

#include "drydock/apps/common/machine_choice.h"

namespace drydock::apps::gpuloc {

// An SVG image: a panel for each NUMA node, in it a card for each host bridge or switch, GPUs above
// and NICs below. NICs have the colours of the GPUs that should use them. Everything has a tooltip.
// A pure function.
std::string DrawSvg(const MachineChoice& choice);

}  // namespace drydock::apps::gpuloc

#endif  // DRYDOCK_APPS_GPULOC_DRAWING_H_
