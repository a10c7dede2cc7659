// The gda_put program: see README.md in this folder.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/counted_main.h"
#include "drydock/apps/common/device_pair.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/time.h"
#include "drydock/gpu/gda/kernels.h"
#include "drydock/gpu/gda/launcher.h"
#include "drydock/gpu/gda/sim_pair.h"

ABSL_FLAG(std::string, kernel, "put",
          "put: one put that blocks. loop: one thread, --count writes. team: the threads of a "
          "block fill batches together. blocks: many blocks share the queue.");
ABSL_FLAG(drydock::apps::ByteSize, bytes, {4096}, "Bytes of each write; a multiple of 8.");
ABSL_FLAG(std::uint64_t, count, 1000, "Writes, each to a different place; --kernel=put has one.");
ABSL_FLAG(std::uint64_t, batch, 1,
          "With --kernel=loop: writes that are completed together before the next ones; 0: wait "
          "for completions only when the queue is full. A team has one for each thread, up to the "
          "NIC's batch limit.");
ABSL_FLAG(std::uint64_t, blocks, 4, "Blocks that share the queue, with --kernel=blocks.");
ABSL_FLAG(std::uint64_t, threads, 0,
          "Threads of each block, with --kernel=team or blocks; 0: 32, or 2 on the stand-in.");
ABSL_FLAG(std::string, memory, "device", "Where the data is: device or host.");

namespace drydock::apps::gda_put {
namespace {

using namespace gpu::gda;  // NOLINT(build/namespaces)

const Usage kUsage = {
    .name = "gda_put",
    .summary =
        "a device posts RDMA writes by itself: it fills the NIC's ring, rings, and polls; then "
        "every byte is checked. The NICs are simulated, in real time.",
    .synopsis = "[--device=NAME] [--kernel=put|loop|team|blocks] [--ring=mapped|record|proxy]",
    .examples =
        "  gda_put                                         one put by a GPU, or its stand-in\n"
        "  gda_put --kernel=loop --count=10000 --batch=32  in batches of 32\n"
        "  gda_put --kernel=blocks --blocks=8              eight blocks on one queue\n"
        "  gda_put --ring=proxy --kernel=loop              a thread of the host posts\n"
        "  gda_put --device=cuda:0 --kernel=loop --count=1000000 --bytes=8 --memory=host\n"
        "\nExit status: 0 data correct, 1 data wrong or a write failed, 2 bad input."};

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMostThreads = 1024;
constexpr std::uint64_t kPatience = 60'000'000'000;  // ns, of every wait of a kernel

struct Options {
  Kernel kernel = Kernel::kPut;
  RingMode ring = RingMode::kMappedBell;
  BufferPlace place = BufferPlace::kDevice;
  std::uint32_t bytes = 0;
  std::uint64_t count = 1;
  std::uint32_t batch = 0;
  unsigned blocks = 1;
  unsigned threads = 1;
};

struct Result {
  KernelReport report;  // of all blocks
  gpu::Mismatch mismatch;
  std::vector<std::string> faults;
};

template <typename T>
absl::StatusOr<T> Named(const char* flag, const std::string& value,
                        std::vector<std::pair<const char*, T>> names) {
  for (const auto& [name, meaning] : names) {
    if (value == name) return meaning;
  }
  std::vector<const char*> known;
  for (const auto& one : names) known.push_back(one.first);
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", value, " does not exist: ", absl::StrJoin(known, ", ")));
}

absl::Status InRange(const char* flag, std::uint64_t value, std::uint64_t least,
                     std::uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", value, " is not between ", least, " and ", most));
}

absl::StatusOr<Options> OptionsFromFlags(bool stand_in) {
  Options options;
  ASSIGN_OR_RETURN(options.kernel, (Named<Kernel>("kernel", absl::GetFlag(FLAGS_kernel),
                                                  {{"put", Kernel::kPut},
                                                   {"loop", Kernel::kWriteLoop},
                                                   {"team", Kernel::kTeamWrites},
                                                   {"blocks", Kernel::kBlockWrites}})));
  ASSIGN_OR_RETURN(options.ring, RingModeFromFlags());
  ASSIGN_OR_RETURN(
      options.place,
      (Named<BufferPlace>("memory", absl::GetFlag(FLAGS_memory),
                          {{"device", BufferPlace::kDevice}, {"host", BufferPlace::kHost}})));
  const std::uint64_t bytes = absl::GetFlag(FLAGS_bytes).bytes;
  RETURN_IF_ERROR(InRange("bytes", bytes, 8, 1 << 30));
  if (bytes % 8 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("--bytes=", bytes, " is no multiple of 8"));
  }
  options.bytes = static_cast<std::uint32_t>(bytes);
  options.count = options.kernel == Kernel::kPut ? 1 : absl::GetFlag(FLAGS_count);
  RETURN_IF_ERROR(InRange("count", options.count, 1, kMostBytes / bytes));
  RETURN_IF_ERROR(InRange("batch", absl::GetFlag(FLAGS_batch), 0, 1 << 20));
  if (options.kernel == Kernel::kWriteLoop) {
    options.batch = static_cast<std::uint32_t>(absl::GetFlag(FLAGS_batch));
  }
  const bool many = options.kernel == Kernel::kBlockWrites;
  const bool teams = many || options.kernel == Kernel::kTeamWrites;
  if (teams && options.ring == RingMode::kProxy) {
    return absl::InvalidArgumentError(
        "--ring=proxy is for one thread: --kernel=put or --kernel=loop");
  }
  RETURN_IF_ERROR(InRange("blocks", absl::GetFlag(FLAGS_blocks), 1, stand_in ? 16 : 128));
  RETURN_IF_ERROR(
      InRange("threads", absl::GetFlag(FLAGS_threads), 0, stand_in ? 16 : kMostThreads));
  if (many) options.blocks = static_cast<unsigned>(absl::GetFlag(FLAGS_blocks));
  if (teams) options.threads = static_cast<unsigned>(absl::GetFlag(FLAGS_threads));
  if (options.threads == 0) options.threads = stand_in ? 2 : 32;
  return options;
}

absl::StatusOr<KernelReport> RunKernel(SimPair& pair, const Options& options) {
  Launcher& launcher = pair.launcher(0);
  const Grid grid{options.blocks, options.threads};
  ASSIGN_OR_RETURN(const SharedMemory reports, pair.Reports(options.blocks));
  auto* const report = reports.on_device<KernelReport>();
  const Series series{pair.Write(0, options.bytes), options.count, options.count, options.bytes};
  if (options.kernel == Kernel::kPut) {
    const PutArguments arguments{pair.channel(), series.first, kPatience, report};
    RETURN_IF_ERROR(launcher.Launch(options.kernel, grid, &arguments));
  } else if (options.kernel == Kernel::kBlockWrites) {
    ASSIGN_OR_RETURN(const SharedView shared, pair.Share());
    const BlockArguments arguments{shared, series, kPatience, report};
    RETURN_IF_ERROR(launcher.Launch(options.kernel, grid, &arguments));
  } else {
    const LoopArguments arguments{pair.channel(), series, options.batch, kPatience, report};
    RETURN_IF_ERROR(launcher.Launch(options.kernel, grid, &arguments));
  }
  RETURN_IF_ERROR(launcher.Wait());
  KernelReport all = reports.on_host<KernelReport>()[0];
  for (unsigned block = 1; block < options.blocks; ++block) {
    const KernelReport& one = reports.on_host<KernelReport>()[block];
    if (all.outcome == Outcome::kOk) all.outcome = one.outcome;
    all.done += one.done;
    all.nanoseconds = std::max(all.nanoseconds, one.nanoseconds);
  }
  return all;
}

void PrintForScripts(SimPair& pair, const Options& options, const Result& result, double each,
                     OutputForm form) {
  const KernelReport& report = result.report;
  ResultTable table("gda_put", Origin::kMeasured,
                    {{"device"},
                     {"peer"},
                     {"kernel"},
                     {"ring"},
                     {"bytes"},
                     {"count"},
                     {"batch"},
                     {"outcome"},
                     {"done"},
                     {"failures"},
                     {"status"},
                     {"ns_per_write"},
                     {"faults"},
                     {"correct"}});
  table.AddRow({TextCell(pair.device(0).name()), TextCell(pair.device(1).name()),
                TextCell(absl::GetFlag(FLAGS_kernel)), TextCell(RingModeName(options.ring)),
                CountCell(options.bytes), CountCell(options.count), CountCell(options.batch),
                TextCell(OutcomeName(report.outcome)), CountCell(report.done),
                CountCell(report.failures), CountCell(report.status), NumberCell(each, 1),
                ListCell(result.faults), YesCell(result.mismatch.none())});
  std::cout << (form == OutputForm::kJson ? ToRecordJson(table) : ToCsv(table));
}

void Print(SimPair& pair, const Options& options, const Result& result, OutputForm form) {
  const KernelReport& report = result.report;
  const double each = static_cast<double>(report.nanoseconds) /
                      static_cast<double>(std::max<std::uint64_t>(report.done, 1));
  const bool correct = result.mismatch.none();
  if (form != OutputForm::kText) return PrintForScripts(pair, options, result, each, form);
  std::cout << absl::StreamFormat("device    %s (%s), writes to %s\n", pair.device(0).name(),
                                  pair.device(0).description(), pair.device(1).name());
  std::cout << absl::StreamFormat("nic       %s, simulated; queue pair %d to queue pair %d\n",
                                  pair.nic().name, pair.number(0), pair.number(1));
  std::cout << absl::StreamFormat("kernel    %s, %d x %d threads, doorbell %s\n",
                                  absl::GetFlag(FLAGS_kernel), options.blocks, options.threads,
                                  RingModeName(options.ring));
  std::cout << absl::StreamFormat("put       %d of %d writes of %s: %s\n", report.done,
                                  options.count, FormatBytes(options.bytes),
                                  OutcomeName(report.outcome));
  if (report.failures != 0) {
    std::cout << absl::StreamFormat("failed    %d, the last with EFA's status %d\n",
                                    report.failures, report.status);
  }
  for (const std::string& fault : result.faults) std::cout << "fault     " << fault << "\n";
  std::cout << absl::StreamFormat(
      "time      %s, %s each\n",
      FormatDuration(coro::Duration(static_cast<std::int64_t>(report.nanoseconds))),
      FormatDuration(coro::Duration(static_cast<std::int64_t>(each))));
  if (!correct) {
    std::cout << absl::StreamFormat("Data is wrong: %d words, the first at byte %d\n",
                                    result.mismatch.wrong_words, result.mismatch.first_wrong_byte);
  } else {
    std::cout << "Data is correct\n";
  }
}

// 0, or 1 when the result is bad.
absl::StatusOr<int> RunOn(SimPair& pair, const Options& options, std::uint64_t seed,
                          OutputForm form) {
  RETURN_IF_ERROR(pair.Prepare(options.count * options.bytes, options.place, options.ring));
  RETURN_IF_ERROR(pair.Fill(0, seed));
  RETURN_IF_ERROR(pair.Fill(1, ~seed));
  Result result;
  ASSIGN_OR_RETURN(result.report, RunKernel(pair, options));
  RETURN_IF_ERROR(pair.Flush());
  ASSIGN_OR_RETURN(result.mismatch, pair.Verify(1, seed));
  result.faults = pair.Faults();
  Print(pair, options, result, form);
  const bool good = result.report.outcome == Outcome::kOk && result.mismatch.none();
  return good ? kExitOk : kExitFailed;
}

// The same with what it has been observed and counted, however it ended.
absl::StatusOr<int> Run(const std::vector<std::string>& positional, MetricsRun* metrics) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument '", positional[0], "'"));
  }
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  ASSIGN_OR_RETURN(const auto run, DevicePair::FromFlags(kUsage.name));
  ASSIGN_OR_RETURN(const Options options, OptionsFromFlags(run->stand_in()));
  const absl::StatusOr<int> code = RunOn(run->pair(), options, run->seed(), form);
  const absl::Status closed = run->Close(metrics);
  return code.ok() && !closed.ok() ? closed : code;
}

}  // namespace
}  // namespace drydock::apps::gda_put

int main(int argc, char** argv) {
  return drydock::apps::CountedMain(argc, argv, drydock::apps::gda_put::kUsage,
                                    drydock::apps::gda_put::Run);
}
