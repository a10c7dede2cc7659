// One way of writing, again and again, and nothing else: what a profiler is to look at.
//
//   valgrind --tool=callgrind --toggle-collect='*PathOfEnds*::Write(*'
//   bazel-bin/testing/benchmarks/write_profile --count=20000

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/testing/benchmarks/bare_paths.h"
#include "drydock/testing/benchmarks/sim_paths.h"
#include "drydock/testing/benchmarks/write_path.h"

ABSL_FLAG(std::string, path, "virtual", "virtual, live or floor.");
ABSL_FLAG(std::uint64_t, bytes, 64, "Bytes of a write.");
ABSL_FLAG(std::uint64_t, window, 1, "Writes under way at a time.");
ABSL_FLAG(std::uint64_t, count, 100000, "Writes; a multiple of --window.");

namespace drydock::bench {
namespace {

absl::StatusOr<std::unique_ptr<WritePath>> Open(const std::string& name, const Buffers& buffers) {
  if (name == "virtual") return OpenVirtualTimePath(buffers);
  if (name == "live") return OpenLivePath(buffers);
  if (name == "floor") return MakeFloorPath(buffers);
  return absl::InvalidArgumentError("--path: virtual, live or floor");
}

const apps::Usage kUsage = {"write_profile", "writes in one way, for a profiler.",
                            "[--path=NAME] [--bytes=N] [--window=N] [--count=N]", ""};

int Main(int argc, char** argv) {
  apps::ParseCommandLineOrExit(argc, argv, kUsage);
  const Shape shape{absl::GetFlag(FLAGS_bytes), absl::GetFlag(FLAGS_window)};
  const Buffers buffers(shape.bytes * shape.window);
  const auto path = Open(absl::GetFlag(FLAGS_path), buffers);
  if (!path.ok()) return apps::ReportError("write_profile", path.status());
  const absl::Status status =
      (*path)->Write(shape, absl::GetFlag(FLAGS_count) / shape.window * shape.window);
  return status.ok() ? 0 : apps::ReportError("write_profile", status);
}

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) { return drydock::bench::Main(argc, argv); }
