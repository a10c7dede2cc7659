#include "drydock/testing/tutorial/seeds.h"

#include <iostream>

#include "absl/strings/numbers.h"

namespace drydock::tutorial {
namespace {

constexpr std::uint64_t kMostSeeds = 1000000;
constexpr std::uint64_t kShown = 5;  // failing seeds that are printed at most

}  // namespace

int RunSeeds(int argc, char** argv, std::size_t pages,
             absl::StatusOr<std::size_t> (*run)(std::uint64_t seed)) {
  std::uint64_t first = 0, count = 1;
  if (argc < 2 || argc > 3 || !absl::SimpleAtoi(argv[1], &first) ||
      (argc == 3 && !absl::SimpleAtoi(argv[2], &count)) || count < 1 || count > kMostSeeds) {
    std::cerr << "usage: FIRST_SEED [COUNT], COUNT from 1 to " << kMostSeeds << "\n";
    return 2;
  }
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = first + i;
    const absl::StatusOr<std::size_t> missing = run(seed);
    const bool whole = missing.ok() && *missing == 0;
    failed += whole ? 0 : 1;
    if (count > 1 && (whole || failed > kShown)) continue;
    std::cout << "seed " << seed << ": ";
    if (whole) {
      std::cout << "the picture is whole\n";
    } else if (missing.ok()) {
      std::cout << *missing << " of " << pages << " pages are missing\n";
    } else {
      std::cout << missing.status() << "\n";
    }
  }
  if (count > 1) std::cout << failed << " of " << count << " seeds failed\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace drydock::tutorial
