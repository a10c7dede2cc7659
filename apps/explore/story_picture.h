// A small run as a picture: its NICs from left to right, time from top to bottom, operations as
// arrows, faults as crosses, and its story below.

#ifndef DRYDOCK_APPS_EXPLORE_STORY_PICTURE_H_
#define DRYDOCK_APPS_EXPLORE_STORY_PICTURE_H_

#include <string>

#include "drydock/sim/explore/shrink.h"

namespace drydock::apps {

// An SVG image of the run that is left. Each moment has a line of its own:
// the distance between two is no measure. Operations that are not calm are red. Of a run that
// stayed large, the first operations and faults.
std::string DrawShrunk(const sim::explore::ShrinkReport& report);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_STORY_PICTURE_H_
