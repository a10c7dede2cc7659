// The interchange program: see README.md in this folder.

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
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/counted_main.h"
#include "drydock/apps/common/device_pair.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/nic_info.h"
#include "drydock/gpu/gda/kernels.h"
#include "drydock/gpu/gda/launcher.h"
#include "drydock/gpu/gda/sim_pair.h"

ABSL_FLAG(drydock::apps::ByteSize, bytes, {1024}, "Bytes of the message, 1 to 1073741824.");
ABSL_FLAG(std::uint64_t, value, 42, "Value of every byte, 0 to 255.");
ABSL_FLAG(std::uint64_t, count, 1, "How often the message is sent and verified.");

namespace drydock::apps::interchange {
namespace {

using namespace gpu::gda;  // NOLINT(build/namespaces)

const Usage kUsage = {
    .name = "interchange",
    .summary =
        "one GPU writes into the memory of another through RDMA, by itself: a kernel fills, posts, "
        "rings and polls; another one verifies. The NICs are simulated, in real time.",
    .synopsis = "[--device=NAME] [--peer-device=NAME] [--bytes=N] [--value=N] [--count=N]",
    .examples =
        "  interchange                                     1024 bytes of 42\n"
        "  interchange --device=cuda:0 --peer-device=cuda:1  between two GPUs\n"
        "  interchange --bytes=1048576 --value=7 --count=10\n"
        "  interchange --ring=proxy                        a thread of the host posts\n"
        "\nExit status: 0 verified, 1 wrong or failed, 2 bad input."};

constexpr std::uint64_t kPatience = 60'000'000'000;  // ns, of every wait of a kernel
constexpr unsigned kThreads = 128;                   // of kernels that fill and verify
constexpr unsigned kStandInThreads = 2;

struct Options {
  std::uint32_t bytes = 0;
  std::uint32_t value = 0;
  std::uint64_t count = 0;
  RingMode ring = RingMode::kMappedBell;
};

// Prints the steps for a person, or nothing.
class Narrator {
 public:
  explicit Narrator(bool silent) : silent_(silent) {}
  template <typename... Arguments>
  void Line(const absl::FormatSpec<Arguments...>& format, const Arguments&... arguments) {
    if (!silent_) std::cout << absl::StrFormat(format, arguments...) << std::endl;
  }

 private:
  bool silent_;
};

absl::StatusOr<Options> OptionsFromFlags() {
  Options options;
  const auto range = [](const char* flag, std::uint64_t value, std::uint64_t least,
                        std::uint64_t most) {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, "=", value, " is not between ", least, " and ", most));
  };
  RETURN_IF_ERROR(range("bytes", absl::GetFlag(FLAGS_bytes).bytes, 1, 1 << 30));
  RETURN_IF_ERROR(range("value", absl::GetFlag(FLAGS_value), 0, 255));
  RETURN_IF_ERROR(range("count", absl::GetFlag(FLAGS_count), 1, 1'000'000));
  options.bytes = static_cast<std::uint32_t>(absl::GetFlag(FLAGS_bytes).bytes);
  options.value = static_cast<std::uint32_t>(absl::GetFlag(FLAGS_value));
  options.count = absl::GetFlag(FLAGS_count);
  ASSIGN_OR_RETURN(options.ring, RingModeFromFlags());
  return options;
}

// Runs a kernel of one block, and returns its report.
absl::StatusOr<KernelReport> RunKernel(Launcher& launcher, Kernel kernel, unsigned threads,
                                       const void* arguments, const SharedMemory& report) {
  *report.on_host<KernelReport>() = KernelReport();
  RETURN_IF_ERROR(launcher.Launch(kernel, {1, threads}, arguments));
  RETURN_IF_ERROR(launcher.Wait());
  return *report.on_host<KernelReport>();
}

// Fills or checks the buffer of a side, by its device.
absl::StatusOr<KernelReport> OnBytes(SimPair& pair, int side, Kernel kernel, std::uint32_t bytes,
                                     std::uint32_t value, const SharedMemory& report) {
  BytesArguments arguments;
  ASSIGN_OR_RETURN(arguments.bytes, pair.Reach(side));
  arguments.length = bytes;
  arguments.value = value;
  arguments.report = report.on_device<KernelReport>();
  const bool stand_in = pair.device(side).kind() == fabric::MemoryKind::kStandIn;
  return RunKernel(pair.launcher(side), kernel, stand_in ? kStandInThreads : kThreads, &arguments,
                   report);
}

// How many bytes arrived wrong. kInternal: the transfer failed.
absl::StatusOr<std::uint64_t> Interchange(SimPair& pair, const Options& options,
                                          const SharedMemory& report,
                                          const SharedMemory& peer_report) {
  RETURN_IF_ERROR(
      OnBytes(pair, 0, Kernel::kFillBytes, options.bytes, options.value, report).status());
  RETURN_IF_ERROR(
      OnBytes(pair, 1, Kernel::kFillBytes, options.bytes, ~options.value & 0xFF, peer_report)
          .status());
  const PutArguments put{pair.channel(), pair.Write(0, options.bytes), kPatience,
                         report.on_device<KernelReport>()};
  ASSIGN_OR_RETURN(const KernelReport done,
                   RunKernel(pair.launcher(0), Kernel::kPut, 1, &put, report));
  if (done.outcome != Outcome::kOk) {
    std::string why = absl::StrCat("the transfer ", OutcomeName(done.outcome));
    if (done.status != 0) absl::StrAppend(&why, ", with EFA's status ", done.status);
    for (const std::string& fault : pair.Faults()) absl::StrAppend(&why, "; ", fault);
    return absl::InternalError(why);
  }
  RETURN_IF_ERROR(pair.Flush());
  ASSIGN_OR_RETURN(const KernelReport checked, OnBytes(pair, 1, Kernel::kCountWrong, options.bytes,
                                                       options.value, peer_report));
  return checked.done;
}

std::int64_t ActivePorts(const SimPair& pair) {
  return std::count_if(pair.nics().begin(), pair.nics().end(), [](const fabric::NicInfo& nic) {
    return nic.link_state == fabric::LinkState::kUp;
  });
}

// How many bytes arrived wrong, in all rounds.
absl::StatusOr<std::uint64_t> RunSteps(SimPair& pair, const Options& options, Narrator& out) {
  out.Line("Step 1: Initializing RDMA context...");
  RETURN_IF_ERROR(pair.OpenFabrics());
  out.Line("  Found %d RDMA device(s)", pair.nics().size());
  out.Line("Step 2: Getting RDMA devices...");
  out.Line("  Found %d active device port(s)", ActivePorts(pair));
  out.Line("Step 3: Creating device contexts...");
  RETURN_IF_ERROR(pair.OpenDomains());
  out.Line("  Device contexts created");
  out.Line("Step 4: Creating RDMA endpoints...");
  RETURN_IF_ERROR(pair.OpenEndpoints());
  out.Line("  Endpoints created (QPN: send=%d, recv=%d)", pair.number(0), pair.number(1));
  out.Line("Step 5: Connecting endpoints...");
  RETURN_IF_ERROR(pair.Connect());
  out.Line("  Endpoints connected");
  out.Line("Step 6: Allocating and registering GPU buffers...");
  RETURN_IF_ERROR(pair.OpenBuffers(options.bytes, BufferPlace::kDevice));
  RETURN_IF_ERROR(pair.Start(options.ring));
  ASSIGN_OR_RETURN(const SharedMemory report, pair.Reports());
  ASSIGN_OR_RETURN(const SharedMemory peer_report,
                   pair.launcher(1).AllocateShared(sizeof(KernelReport)));
  out.Line("  Buffers allocated and registered");
  out.Line("Step 7: Launching GPU kernel for data interchange...");
  std::uint64_t wrong = 0;
  const coro::SteadyClock clock;
  Progress progress({.what = "messages", .total = options.count, .bytes_each = options.bytes},
                    clock);
  for (std::uint64_t round = 0; round < options.count && wrong == 0; ++round) {
    progress.Update(round);
    ASSIGN_OR_RETURN(wrong, Interchange(pair, options, report, peer_report));
  }
  progress.Hide();
  if (wrong == 0) {
    out.Line("Success! All %d bytes verified with value %d", options.bytes, options.value);
  } else {
    out.Line("Failure! %d of %d bytes are not %d", wrong, options.bytes, options.value);
  }
  out.Line("  Kernel execution completed");
  return wrong;
}

// 0, or 1 when the result is bad.
absl::StatusOr<int> Run(const std::vector<std::string>& positional, MetricsRun* metrics) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument '", positional[0], "'"));
  }
  ASSIGN_OR_RETURN(const Options options, OptionsFromFlags());
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  ASSIGN_OR_RETURN(const auto run, DevicePair::FromFlags(kUsage.name));
  Narrator out(form != OutputForm::kText);
  out.Line("=== Simple GPU Data Interchange Example ===");
  out.Line("Transferring %d bytes with value %d\n", options.bytes, options.value);
  const absl::StatusOr<std::uint64_t> done = RunSteps(run->pair(), options, out);
  if (!done.ok()) {  // what was observed until then tells why
    run->Close(metrics).IgnoreError();
    return done.status();
  }
  const std::uint64_t wrong = *done;
  out.Line("Step 8: Cleaning up resources...");
  RETURN_IF_ERROR(run->Close(metrics));
  out.Line("  Resources cleaned up\n");
  out.Line("=== Example %s ===", std::string(wrong == 0 ? "completed successfully!" : "failed!"));
  if (form != OutputForm::kText) {
    ResultTable table("interchange", Origin::kFound,
                      {{"device"},
                       {"peer"},
                       {"ring"},
                       {"bytes"},
                       {"value"},
                       {"count"},
                       {"wrong_bytes"},
                       {"correct"}});
    table.AddRow({TextCell(run->device().name()), TextCell(run->peer().name()),
                  TextCell(RingModeName(options.ring)), CountCell(options.bytes),
                  CountCell(options.value), CountCell(options.count), CountCell(wrong),
                  YesCell(wrong == 0)});
    std::cout << (form == OutputForm::kJson ? ToRecordJson(table) : ToCsv(table));
  }
  return wrong == 0 ? kExitOk : kExitFailed;
}

}  // namespace
}  // namespace drydock::apps::interchange

int main(int argc, char** argv) {
  return drydock::apps::CountedMain(argc, argv, drydock::apps::interchange::kUsage,
                                    drydock::apps::interchange::Run);
}
