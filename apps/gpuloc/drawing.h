// A machine's topology as a drawing.

#ifndef APPS_GPULOC_DRAWING_H_
#define APPS_GPULOC_DRAWING_H_

#include <string>

#include "apps/common/machine_choice.h"

namespace apps::gpuloc {

// An SVG image: a panel for each NUMA node, in it a card for each host bridge or switch, GPUs above
// and NICs below. NICs have the colours of the GPUs that should use them. Everything has a tooltip.
// A pure function.
std::string DrawSvg(const MachineChoice& choice);

}  // namespace apps::gpuloc

#endif  // APPS_GPULOC_DRAWING_H_
