#ifndef DRYDOCK_SIM_TESTING_UNIQUE_NAME_H_
#define DRYDOCK_SIM_TESTING_UNIQUE_NAME_H_

// Names of shared memory and of fabrics that no other test of this machine has.

#include <string>

#include "absl/strings/string_view.h"

namespace drydock::sim_testing {

// `stem`, a dash and 16 random hexadecimal digits. Not made of a process number: each test in a
// sandbox can have the same one, while all of them share one folder of shared memory. Thread-safe.
std::string UniqueName(absl::string_view stem);

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_TESTING_UNIQUE_NAME_H_
