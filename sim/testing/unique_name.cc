#include "drydock/sim/testing/unique_name.h"

#include <cstdint>
#include <random>

#include "absl/strings/str_format.h"

namespace drydock::sim_testing {

std::string UniqueName(absl::string_view stem) {
  std::random_device device;
  const std::uint64_t drawn = std::uint64_t{device()} << 32 | device();
  return absl::StrFormat("%s-%016x", stem, drawn);
}

}  // namespace drydock::sim_testing
