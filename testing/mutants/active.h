// Which mutant of the code this process runs: see README.md.

#ifndef DRYDOCK_TESTING_MUTANTS_ACTIVE_H_
#define DRYDOCK_TESTING_MUTANTS_ACTIVE_H_

#include <string_view>

namespace drydock::mutants {

// Whether the environment variable DRYDOCK_MUTANT names this one. Asked by mutated code only, often
// and from anywhere. Thread-safe.
bool Active(std::string_view name);

}  // namespace drydock::mutants

#endif  // DRYDOCK_TESTING_MUTANTS_ACTIVE_H_
