// Puts the mutants of a file into it: mutate LIST NAME INPUT OUTPUT, where NAME is the file's in
// the list. For the build.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "drydock/testing/mutants/mutant_list.h"

namespace {

int Fail(const absl::Status& status) {
  std::cerr << "mutate: " << status.message() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: mutate LIST NAME INPUT OUTPUT\n";
    return 2;
  }
  const auto mutants = drydock::mutants::LoadMutants(argv[1]);
  if (!mutants.ok()) return Fail(mutants.status());
  std::ifstream input(argv[3]);
  const std::string text(std::istreambuf_iterator<char>(input), {});
  const auto mutated = drydock::mutants::Mutate(*mutants, argv[2], text);
  if (!mutated.ok()) return Fail(mutated.status());
  std::ofstream output(argv[4]);
  output << *mutated << std::flush;
  return output ? 0 : Fail(absl::InternalError("writing failed"));
}
