// Turns a trace that was written as JSON into a page, as `--trace=FILE.html` does.

#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/trace_page.h"

namespace drydock::apps {
namespace {

const Usage kUsage = {
    .name = "trace_html",
    .summary = "turns a trace that was written as JSON into a page for a browser.",
    .synopsis = "<TRACE.json >PAGE.html",
    .examples =
        "  write --trace=run.json\n"
        "  trace_html <run.json >run.html   what write --trace=run.html gives at once",
};

absl::Status Convert(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument: ", positional.front(),
                                                   " (the trace is read from standard input)"));
  }
  const std::string trace{std::istreambuf_iterator<char>(std::cin), {}};
  if (trace.empty()) return absl::InvalidArgumentError("standard input is empty, and not a trace");
  if (!absl::StrContains(trace, "\"traceEvents\"") && !absl::StrContains(trace, "\"ph\"")) {
    return absl::InvalidArgumentError("standard input is no trace: it has no events");
  }
  std::cout << TracePage(trace) << std::flush;
  if (!std::cout.good()) return absl::DataLossError("the page could not be written");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Usage usage = kUsage;
  const std::string called = argv[0];
  // In a package it is the command trace.
  if (called.substr(called.rfind('/') + 1) == "trace") usage.name = "trace";
  const absl::Status status = Convert(ParseCommandLineOrExit(argc, argv, usage));
  return status.ok() ? kExitOk : ReportError(usage.name, status);
}

}  // namespace
}  // namespace drydock::apps

int main(int argc, char** argv) { return drydock::apps::Main(argc, argv); }
