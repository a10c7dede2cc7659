// The write program, for whatever memory its data lives in: the flags, and what is printed.

#ifndef DRYDOCK_APPS_WRITE_PROGRAM_H_
#define DRYDOCK_APPS_WRITE_PROGRAM_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/apps/common/page_data.h"
#include "drydock/fabric/peer_memory.h"

namespace drydock::apps::write {

// Where the data of both sides lives. What it refers to outlives the program's run.
struct DataPlaces {
  DataMemory* client = &HostData();
  DataMemory* server = &HostData();
  std::vector<fabric::PeerMemoryClient*> devices;  // that any of it lives on
  // What a person is told of it, once it was allocated: labels and texts.
  using Lines = std::vector<std::pair<std::string, std::string>>;
  std::function<Lines()> lines = [] { return Lines(); };
};

// Runs the program called `name`, whose flags were parsed; returns its exit status.
int RunProgram(const std::string& name, const std::vector<std::string>& positional,
               const DataPlaces& places);

}  // namespace drydock::apps::write

#endif  // DRYDOCK_APPS_WRITE_PROGRAM_H_
