// A file that a program writes because a flag names it.
//
//   RETURN_IF_ERROR(CheckOutput("trace", path));                  // before hours of work
//   ...
//   RETURN_IF_ERROR(WriteOutput("trace", path, [&](std::ostream& out) { out << text; }));

#ifndef DRYDOCK_APPS_COMMON_OUTPUT_FILE_H_
#define DRYDOCK_APPS_COMMON_OUTPUT_FILE_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace drydock::apps {

// The file that this process writes where a flag names `path`. Ranks of one launcher
// (ranks/launch.h) are given the same flags: each has a file of its own, rank 3 "run.rank3.html"
// for "run.html". A device, a pipe, a file that is open already (/dev/stdout, /proc/self/fd/3) and
// the file of a process that was started alone are `path` itself.
std::string PathOfThisRank(const std::string& path);

// Whether `path` could be written now, as far as can be told without touching it. kInvalidArgument
// otherwise: "--trace=PATH: cannot be written: No such file or directory" for the flag `trace`.
absl::Status CheckOutput(absl::string_view flag, const std::string& path);

// Writes the file. In a folder that takes a new file, whoever opens it finds the old one or all of
// the new one, after an error the old one, and it keeps its permissions. A device, a pipe and the
// file of standard output are written to. Errors: those of CheckOutput; kUnavailable: it cannot be
// written, as on a full disk.
absl::Status WriteOutput(absl::string_view flag, const std::string& path,
                         const std::function<void(std::ostream&)>& write);

// kInvalidArgument where `path` is one of the files that the program reads: they may be all that is
// left of a run.
absl::Status CheckSpares(absl::string_view flag, const std::string& path,
                         const std::vector<std::string>& read);

// A file, and the flag that names it. An empty path names none.
struct OutputFile {
  absl::string_view flag;
  std::string path;
};

// CheckOutput of each of these files that is named. kInvalidArgument, too, where two of them are
// the same file; devices may be shared.
absl::Status CheckOutputs(const std::vector<OutputFile>& files);

// Of a flag that many programs have, --trace, --metrics or --svg: CheckOutput. kInvalidArgument,
// too, where --faults or --topology of the same command line name the file, which the run reads, or
// another one of the three.
absl::Status CheckOutputFlag(absl::string_view flag, const std::string& path);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_OUTPUT_FILE_H_
