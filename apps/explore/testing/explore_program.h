// The program explore, for the tests that run it. Its path is in $DRYDOCK_EXPLORE.

#ifndef DRYDOCK_APPS_EXPLORE_TESTING_EXPLORE_PROGRAM_H_
#define DRYDOCK_APPS_EXPLORE_TESTING_EXPLORE_PROGRAM_H_

#include <map>
#include <string>
#include <vector>

#include "drydock/testing/harness/subprocess.h"

namespace drydock::apps {

using Variables = std::map<std::string, std::string>;

// explore with these arguments, as a process is started.
std::vector<std::string> ExploreCommand(std::vector<std::string> arguments);

// Runs it to its end; `variables` are added to the environment.
harness::ProcessEnd RunExplore(std::vector<std::string> arguments, Variables variables = {});

// The lines that are not empty.
std::vector<std::string> Lines(const std::string& text);

// Writes a file into the test's folder, and returns its path.
std::string WriteText(const std::string& name, const std::string& text);

struct RefusedArguments {
  std::vector<std::string> arguments;
  std::string complaint;
};

// Expects that each of these ends the program with status 2, and one line that has the complaint.
void ExpectRefused(const std::vector<RefusedArguments>& cases);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_TESTING_EXPLORE_PROGRAM_H_
