// Which mutant of the code this process runs: see README.md.

#ifndef TESTING_MUTANTS_ACTIVE_H_
#define TESTING_MUTANTS_ACTIVE_H_

#include <string_view>

namespace mutants {

// Whether the environment variable DRYDOCK_MUTANT names this one. Asked by mutated code only, often
// and from anywhere. Thread-safe.
bool Active(std::string_view name);

}  // namespace mutants

#endif  // TESTING_MUTANTS_ACTIVE_H_
