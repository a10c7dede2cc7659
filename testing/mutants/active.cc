#include "drydock/testing/mutants/active.h"

#include <cstdlib>
#include <string>

namespace drydock::mutants {

bool Active(std::string_view name) {
  static const std::string active = [] {
    const char* const named = std::getenv("DRYDOCK_MUTANT");
    return std::string(named == nullptr ? "" : named);
  }();
  return active == name;
}

}  // namespace drydock::mutants
