// What explore --help says besides its flags.

#ifndef DRYDOCK_APPS_EXPLORE_USAGE_H_
#define DRYDOCK_APPS_EXPLORE_USAGE_H_

#include "drydock/apps/common/command_line.h"

namespace drydock::apps {

extern const Usage kExploreUsage;

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_USAGE_H_
