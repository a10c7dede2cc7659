// One of our programs, started by a test as a user starts it, and run to its end.
//
//   constexpr harness::Program kWhatif("WHATIF", "whatif");
//   EXPECT_THAT(kWhatif.Output({"--nics=1"}), HasSubstr("predicted"));
//   EXPECT_THAT(kWhatif.Refusal({"--nics=33"}), HasSubstr("has 32"));

#ifndef DRYDOCK_TESTING_HARNESS_RUN_PROGRAM_H_
#define DRYDOCK_TESTING_HARNESS_RUN_PROGRAM_H_

#include <string>
#include <vector>

#include "drydock/testing/harness/subprocess.h"

namespace drydock::harness {

class Program {
 public:
  // `variable`: the environment variable with its path (see ProgramPath). `name`: what its errors
  // begin with. Both are literals.
  constexpr Program(const char* variable, const char* name) : variable_(variable), name_(name) {}

  // The same on a machine that has EFA: libfabric does not offer it to the program.
  constexpr Program WithoutEfa() const {
    Program without = *this;
    without.offers_efa_ = false;
    return without;
  }

  // What Subprocess::Start takes: its path, and the arguments.
  std::vector<std::string> Command(std::vector<std::string> arguments) const;

  // However it ends. Fails the test if it cannot be started.
  ProcessEnd Run(std::vector<std::string> arguments) const;

  // What it prints. Expects success, and nothing on standard error.
  std::string Output(const std::vector<std::string>& arguments) const;

  // What it says when it refuses its input. Expects one line on standard error that begins with its
  // name, exit status 2, and nothing on standard output.
  std::string Refusal(const std::vector<std::string>& arguments) const;

 private:
  const char* variable_;
  const char* name_;
  bool offers_efa_ = true;
};

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_RUN_PROGRAM_H_
