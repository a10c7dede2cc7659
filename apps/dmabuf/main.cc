// The dmabuf program: see README.md in this folder.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/device_choice.h"
#include "drydock/apps/common/metrics_flags.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/dmabuf/bandwidth.h"
#include "drydock/apps/dmabuf/device_data.h"
#include "drydock/apps/dmabuf/kinds.h"
#include "drydock/apps/write/program.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/profile/profile.h"

ABSL_FLAG(std::string, device, "auto",
          "Device whose memory receives the client's data: host (a stand-in for a GPU), cuda:N, or "
          "auto, which is the first GPU or else host.");
ABSL_FLAG(std::string, peer_device, "auto",
          "The same for the server's data; auto is a second GPU, if there is one.");
ABSL_FLAG(std::string, register, "auto",
          "How memory is registered: by dmabuf, by address, or auto, which is by dmabuf if the "
          "device, its driver and the fabric support it.");
ABSL_FLAG(
    std::string, allocation, "plain",
    "How memory is allocated on a GPU: plain (as by cudaMalloc), virtual (virtual memory "
    "management, fit for GPUDirect RDMA) or segments (the same, of two physical allocations).");
ABSL_FLAG(bool, bandwidth, false,
          "Instead of a transfer: time a simulated write of --bytes between two device buffers "
          "beside the device's own copy, in real time.");
ABSL_FLAG(
    bool, kinds, false,
    "Instead of a transfer: the difficult cases of registration (contexts of threads, segments, "
    "freed memory, forks) on the stand-in and on --device, each beside the expected verdict.");
ABSL_FLAG(drydock::apps::ByteSize, bytes, {std::uint64_t{256} << 20},
          "With --bandwidth: bytes of each write.");
ABSL_FLAG(std::uint64_t, repeats, 20,
          "With --bandwidth: number of repetitions; medians are printed.");

ABSL_DECLARE_FLAG(std::string, faults);  // of apps/common/fault_flags.cc

namespace drydock::apps::dmabuf {
namespace {

const Usage kUsage = {
    "dmabuf",
    "a server makes data on one device and writes it into the memory of another, past the host; "
    "the device checks every byte.",
    "[--device=NAME] [--seed=N] [--profile=NAME]     both sides in one process, simulated NICs\n"
    "--bandwidth [--device=NAME] [--bytes=N]         how fast, beside the device's own copy\n"
    "--kinds [--device=NAME]                         contexts, kinds of memory and forks\n"
    "--provider=NAME [--clients=N]                   a server: prints its address\n"
    "--provider=NAME ADDRESS [PAGE_SIZE NUM_PAGES]   a client of the server at ADDRESS",
    "  dmabuf                             ends with: Data is correct\n"
    "  dmabuf --device=cuda:0             on a GPU, its dmabuf exported and looked at\n"
    "  dmabuf --register=address          registered by address and kind\n"
    "  dmabuf --device=cuda:0 --bandwidth 256 MiB at a time\n"
    "  dmabuf --device=cuda:0 --kinds     the same verdicts as the stand-in's?\n"
    "\nExit status: 0 data correct, 1 data wrong or transfer failed, 2 bad input."};

absl::StatusOr<gpu::Allocation> ParseAllocation(const std::string& name) {
  if (name == "plain") return gpu::Allocation::kPlain;
  if (name == "virtual") return gpu::Allocation::kVirtual;
  if (name == "segments") return gpu::Allocation::kSegments;
  return absl::InvalidArgumentError(
      absl::StrCat("--allocation=", name, " does not exist: plain, virtual or segments"));
}

// The devices of both sides; they may be one.
struct Devices {
  DeviceChoice own;
  DeviceChoice peer;
  gpu::Allocation allocation = gpu::Allocation::kPlain;

  gpu::Device& client() { return *own.device; }
  gpu::Device& server() { return peer.device == nullptr ? *own.device : *peer.device; }
};

absl::StatusOr<Devices> FindDevices() {
  Devices devices;
  ASSIGN_OR_RETURN(devices.allocation, ParseAllocation(absl::GetFlag(FLAGS_allocation)));
  ASSIGN_OR_RETURN(devices.own, ChooseDevice(absl::GetFlag(FLAGS_device)));
  ASSIGN_OR_RETURN(devices.peer,
                   ChoosePeerDevice(absl::GetFlag(FLAGS_peer_device), devices.client()));
  return devices;
}

std::string WithReason(std::string text, const std::string& reason) {
  return reason.empty() ? text : absl::StrCat(text, " (", reason, ")");
}

// Devices and data live as long as the program.
struct Memories {
  Devices devices;
  std::unique_ptr<DeviceData> client;
  std::unique_ptr<DeviceData> server;
};

absl::StatusOr<write::DataPlaces> FindPlaces(Memories& memories) {
  ASSIGN_OR_RETURN(const RegisterBy how, ParseRegisterBy(absl::GetFlag(FLAGS_register)));
  ASSIGN_OR_RETURN(memories.devices, FindDevices());
  Devices& devices = memories.devices;
  memories.client = std::make_unique<DeviceData>(devices.client(), how, devices.allocation);
  memories.server = std::make_unique<DeviceData>(devices.server(), how, devices.allocation);
  write::DataPlaces places;
  places.client = memories.client.get();
  places.server = memories.server.get();
  places.devices = {&devices.client().peer_memory()};
  if (devices.peer.device != nullptr) places.devices.push_back(&devices.server().peer_memory());
  places.lines = [&memories] {
    const Devices& chosen = memories.devices;
    write::DataPlaces::Lines lines;
    lines.emplace_back("device", WithReason(memories.client->Describe(), chosen.own.reason));
    if (chosen.peer.device != nullptr) {
      lines.emplace_back("peer", WithReason(memories.server->Describe(), chosen.peer.reason));
    }
    return lines;
  };
  return places;
}

// ---- --bandwidth ----

void Print(const BandwidthOptions& options, Devices& devices, const Bandwidth& measured,
           OutputForm form) {
  const double ratio = static_cast<double>(measured.copy.count()) /
                       static_cast<double>(std::max<std::int64_t>(measured.write.count(), 1));
  if (form != OutputForm::kText) {
    ResultTable table(
        "dmabuf", Origin::kMeasured,
        {{"device"}, {"peer"}, {"bytes"}, {"copy_ns"}, {"write_ns"}, {"ratio"}, {"correct"}});
    table.AddRow({TextCell(devices.client().name()), TextCell(devices.server().name()),
                  CountCell(options.length_bytes), SignedCell(measured.copy.count()),
                  SignedCell(measured.write.count()), NumberCell(ratio, 3),
                  YesCell(measured.correct)});
    std::cout << (form == OutputForm::kJson ? ToRecordJson(table) : ToCsv(table));
    return;
  }
  const auto row = [&](const char* what, coro::Duration time) {
    std::cout << absl::StreamFormat("%-10s%s in %s, %s\n", what, FormatBytes(options.length_bytes),
                                    FormatDuration(time), FormatRate(options.length_bytes, time));
  };
  std::cout << absl::StreamFormat("%-10s%s (%s), to %s; median of %d, in turns\n", "device",
                                  devices.server().name(), devices.server().description(),
                                  devices.client().name(), options.repeats);
  row("copy", measured.copy);
  row("write", measured.write);
  std::cout << absl::StreamFormat("%-10s%.3f of the copy's bandwidth\n", "ratio", ratio);
  std::cout << (measured.correct ? "Data is correct\n" : "Data is wrong\n");
}

int RunBandwidth() {
  const auto fail = [](const absl::Status& status) { return ReportError(kUsage.name, status); };
  const BackendOptions backend = BackendOptionsFromFlags();
  if (!backend.provider.empty() || !backend.nic.empty() || backend.fabric == "libfabric" ||
      !absl::GetFlag(FLAGS_faults).empty()) {
    return fail(absl::InvalidArgumentError(
        "--bandwidth takes the first simulated NIC, and no faults: leave out --provider, --fabric, "
        "--nic and --faults"));
  }
  const absl::Status taken =
      AcceptFlags("--bandwidth",
                  {"allocation", "bandwidth", "bytes", "csv", "device", "fabric", "json", "metrics",
                   "peer-device", "profile", "register", "repeats", "trace", "trace-data"});
  if (!taken.ok()) return fail(taken);
  const absl::StatusOr<RegisterBy> how = ParseRegisterBy(absl::GetFlag(FLAGS_register));
  if (!how.ok()) return fail(how.status());
  absl::StatusOr<Devices> devices = FindDevices();
  if (!devices.ok()) return fail(devices.status());
  BandwidthOptions options;
  options.registration = *how;
  options.length_bytes = absl::GetFlag(FLAGS_bytes).bytes;
  options.repeats = absl::GetFlag(FLAGS_repeats);
  options.allocation = devices->allocation;
  if (options.length_bytes == 0 || options.length_bytes % 8 != 0) {
    return fail(absl::InvalidArgumentError(
        absl::StrCat("--bytes=", options.length_bytes, " is not a multiple of 8")));
  }
  if (options.repeats < 1 || options.repeats > 100'000) {
    return fail(absl::InvalidArgumentError(
        absl::StrCat("--repeats=", options.repeats, " is not between 1 and 100000")));
  }
  const std::string& name = backend.profile;
  const absl::StatusOr<const sim::Profile*> profile = sim::FindProfile(name.empty() ? "p5" : name);
  if (!profile.ok()) return fail(profile.status());
  options.profile = *profile;
  const absl::StatusOr<OutputForm> form = OutputFormFromFlags();
  if (!form.ok()) return fail(form.status());
  const absl::StatusOr<std::unique_ptr<MetricsRun>> metrics = MetricsFromFlags();
  if (!metrics.ok()) return fail(metrics.status());
  options.metrics = metrics->get();
  // Without --trace nothing observes what is timed.
  const auto trace = TraceRun::FromFlags(kUsage.name, /*simulated=*/false, /*seed=*/1);
  if (!trace.ok()) return fail(trace.status());
  options.trace = trace->get();
  const absl::StatusOr<Bandwidth> measured =
      MeasureBandwidth(devices->server(), devices->client(), options);
  const absl::Status traced = (*trace)->Finish(measured.status());
  if (!traced.ok()) return fail(traced);
  if (!measured.ok()) return fail(measured.status());
  Print(options, *devices, *measured, *form);
  return DeliverMetrics(kUsage.name, metrics->get(), OutputIsForScripts(),
                        measured->correct ? kExitOk : kExitFailed);
}

// ---- --kinds ----

absl::StatusOr<int> RunKinds() {
  RETURN_IF_ERROR(AcceptFlags("--kinds", {"csv", "device", "json", "kinds"}));
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  // A process that looks whether there is a GPU has opened it: what --kinds must not have done.
  std::string device = absl::GetFlag(FLAGS_device);
  if (device == "auto" || device == "cuda") device = device == "auto" ? "host" : "cuda:0";
  std::vector<std::string> devices = {"host"};
  if (device != "host") devices.push_back(device);
  std::vector<Verdicts> verdicts;
  for (const std::string& one : devices) {
    ASSIGN_OR_RETURN(verdicts.emplace_back(), RunKindCases(one));
  }
  ResultTable table("dmabuf", Origin::kFound,
                    {{"device"}, {"case"}, {"expected"}, {"seen"}, {"same"}});
  std::size_t others = 0;
  for (std::size_t i = 0; i < KindCases().size(); ++i) {
    const KindCase& one = KindCases()[i];
    if (form == OutputForm::kText) {
      std::cout << absl::StreamFormat("%-40s%s\n", one.what, one.expected);
    }
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const std::string& seen = verdicts[d][i];
      const bool same = seen == one.expected;
      if (!same) ++others;
      if (!same && form == OutputForm::kText) {
        std::cout << absl::StreamFormat("  %-38s%s\n", absl::StrCat("but ", devices[d]), seen);
      }
      table.AddRow({TextCell(devices[d]), TextCell(one.what), TextCell(one.expected),
                    TextCell(seen), YesCell(same)});
    }
  }
  if (form == OutputForm::kText) {
    std::cout << absl::StreamFormat(
        "%d cases on %s: %s\n", KindCases().size(), absl::StrJoin(devices, " and "),
        others == 0 ? "all as expected" : absl::StrCat(others, " otherwise"));
  } else {
    std::cout << (form == OutputForm::kJson ? ToJson(table) : ToCsv(table));
  }
  return others == 0 ? kExitOk : kExitFailed;
}

}  // namespace

int Main(int argc, char** argv) {
  const std::vector<std::string> positional = ParseCommandLineOrExit(argc, argv, kUsage);
  if (absl::GetFlag(FLAGS_kinds)) {
    if (absl::GetFlag(FLAGS_bandwidth)) {
      return ReportError(kUsage.name,
                         absl::InvalidArgumentError("--kinds and --bandwidth are two runs"));
    }
    if (!positional.empty()) {
      return ReportError(kUsage.name, absl::InvalidArgumentError(absl::StrCat(
                                          "--kinds takes no arguments: ", positional[0])));
    }
    const absl::StatusOr<int> code = RunKinds();
    return EndWith(kUsage.name, code);
  }
  if (absl::GetFlag(FLAGS_bandwidth)) {
    if (positional.empty()) return RunBandwidth();
    return ReportError(kUsage.name, absl::InvalidArgumentError(absl::StrCat(
                                        "--bandwidth takes no arguments: ", positional[0])));
  }
  const absl::Status timed = RefuseFlags({"bytes", "repeats"}, "goes with --bandwidth only");
  if (!timed.ok()) return ReportError(kUsage.name, timed);
  Memories memories;
  const absl::StatusOr<write::DataPlaces> places = FindPlaces(memories);
  if (!places.ok()) return ReportError(kUsage.name, places.status());
  return write::RunProgram(kUsage.name, positional, *places);
}

}  // namespace drydock::apps::dmabuf

int main(int argc, char** argv) { return drydock::apps::dmabuf::Main(argc, argv); }
