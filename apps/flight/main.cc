// The flight program: see README.md in this folder.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/apps/common/trace_page.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/trace/flight_reader.h"
#include "drydock/fabric/trace/text.h"

ABSL_FLAG(std::string, trace, "",
          "Write the events to this file as well. FILE.html: a page that draws them. Otherwise "
          "JSON, for ui.perfetto.dev.");
ABSL_FLAG(std::uint64_t, last, 40, "Print the last N events; 0: all of them.");

namespace drydock::apps {
namespace {

using fabric::trace::Recording;

const Usage kUsage = {
    .name = "flight",
    .summary =
        "shows what a program did before it died: the last events, from the file that its flight "
        "recorder has left.",
    .synopsis = "FILE [--last=N] [--trace=OUT.html]",
    .examples =
        "  flight /tmp/drydock-flight-4711-Xy2a9b             the last 40 events, a line each\n"
        "  flight /tmp/drydock-flight-4711-Xy2a9b --last=0    all of them, at most 4096\n"
        "  flight /tmp/drydock-flight-4711-Xy2a9b --trace=died.html   as a picture\n"
        "\nA program that aborts says where its file is; one that was killed has left it in the\n"
        "folder of temporary files, with its process number.\n"
        "Exit status: 0 shown, 1 the output cannot be written, 2 bad input."};

void Print(const Recording& recording, std::uint64_t last) {
  const fabric::trace::TraceInfo& info = recording.info;
  const auto line = [](const char* label, const std::string& text) {
    std::cout << absl::StrFormat("%-9s %s\n", label, text);
  };
  line("program", info.program);
  if (!info.backend.empty()) line("fabric", info.backend);
  if (info.simulated) line("seed", absl::StrCat(info.seed));
  line("events", absl::StrCat("the last ", recording.count(), "; ", recording.dropped, " before"));
  const std::vector<std::string> lines = fabric::trace::ToText(recording);
  const std::size_t shown = last == 0 ? lines.size() : std::min<std::size_t>(last, lines.size());
  for (std::size_t i = lines.size() - shown; i < lines.size(); ++i) std::cout << lines[i] << "\n";
}

absl::Status Run(const std::vector<std::string>& positional) {
  if (positional.size() != 1) {
    return absl::InvalidArgumentError("it takes one flight file; --help says where they are");
  }
  const std::string path = absl::GetFlag(FLAGS_trace);
  RETURN_IF_ERROR(CheckSpares("trace", path, positional));
  ASSIGN_OR_RETURN(const Recording recording, fabric::trace::ReadFlightFile(positional[0]));
  if (!path.empty()) {
    RETURN_IF_ERROR(WriteOutput(
        "trace", path, [&](std::ostream& out) { WriteTraceOrPage(recording, path, out); }));
  }
  Print(recording, absl::GetFlag(FLAGS_last));
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const absl::Status status = Run(ParseCommandLineOrExit(argc, argv, kUsage));
  return status.ok() ? EndWith(kUsage.name, kExitOk) : ReportError(kUsage.name, status);
}

}  // namespace
}  // namespace drydock::apps

int main(int argc, char** argv) { return drydock::apps::Main(argc, argv); }
