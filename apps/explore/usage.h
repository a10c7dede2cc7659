// What explore --help says besides its flags.

#ifndef APPS_EXPLORE_USAGE_H_
#define APPS_EXPLORE_USAGE_H_

#include "apps/common/command_line.h"

namespace apps {

extern const Usage kExploreUsage;

}  // namespace apps

#endif  // APPS_EXPLORE_USAGE_H_
