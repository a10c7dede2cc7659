// The write program, for whatever memory its data lives in: the flags, and what is printed.

#ifndef APPS_WRITE_PROGRAM_H_
#define APPS_WRITE_PROGRAM_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/common/command_line.h"
#include "apps/write/data.h"
#include "fabric/peer_memory.h"

namespace apps::write {

// Where the data of both sides lives. What it refers to outlives the program's run.
struct DataPlaces {
  DataMemory* client = &HostData();
  DataMemory* server = &HostData();
  std::vector<fabric::PeerMemoryClient*> devices;  // that any of it lives on
  // What a person is told of it, once it was allocated: labels and texts.
  using Lines = std::vector<std::pair<std::string, std::string>>;
  std::function<Lines()> lines = [] { return Lines(); };
};

// Called when the flags are known. Its error ends the program.
using FindDataPlaces = std::function<absl::StatusOr<DataPlaces>()>;

// What such a program does instead of a transfer, if its flags say so: called first, with the
// positional arguments. Returns the exit status; absent: a transfer is wanted.
using Instead = std::function<std::optional<int>(const std::vector<std::string>& positional)>;
inline std::optional<int> Nothing(const std::vector<std::string>&) { return std::nullopt; }

// main() of such a program; returns its exit status.
int RunProgram(int argc, char** argv, const Usage& usage, const FindDataPlaces& find,
               const Instead& instead = Nothing);

}  // namespace apps::write

#endif  // APPS_WRITE_PROGRAM_H_
