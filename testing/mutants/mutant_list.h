// The mutants: small mistakes, each in one place of the code, each with a name.

#ifndef DRYDOCK_TESTING_MUTANTS_MUTANT_LIST_H_
#define DRYDOCK_TESTING_MUTANTS_MUTANT_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace drydock::mutants {

struct Mutant {
  std::string name;  // lower case, words joined by "-"
  std::string file;  // from the root of the repository
  std::string fact;  // the row of docs/fidelity.md whose tests have to notice; empty: any test may
  std::string says;  // the mistake, for a person
  std::string find;  // the right code: occurs once in the file
  // The wrong code, for when `$` is true, and the right code, for when it is false.
  std::string replace;
};

// Reads a list: a JSON array of objects with these strings, of which `fact` may be missing.
// kInvalidArgument: it is not one, or a name is there twice; kNotFound: there is no such file.
absl::StatusOr<std::vector<Mutant>> LoadMutants(const std::string& path);

// The text of `file` with all of its mutants in it, of which the environment chooses one
// (active.h). kInvalidArgument: the code that a mutant replaces is not there, or not only once.
absl::StatusOr<std::string> Mutate(const std::vector<Mutant>& mutants, const std::string& file,
                                   std::string text);

}  // namespace drydock::mutants

#endif  // DRYDOCK_TESTING_MUTANTS_MUTANT_LIST_H_
