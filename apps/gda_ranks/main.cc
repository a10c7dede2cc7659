// The gda_ranks program: see README.md in this folder.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/gda_ranks/measure.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/memory.h"
#include "drydock/gpu/cuda/cuda_device.h"
#include "drydock/gpu/gda/moe_run.h"
#include "drydock/gpu/gda/sim_ranks.h"
#include "drydock/gpu/host_device/host_device.h"
#include "drydock/sim/profile/profile.h"

ABSL_FLAG(std::string, device, "auto",
          "Where ranks are: host (stand-ins for GPUs), cuda (all GPUs), or auto, which is cuda if "
          "there is one.");
ABSL_FLAG(std::uint64_t, gpus, 0, "The most GPUs, or stand-ins, to use; 0: all there are, or 2.");
ABSL_FLAG(std::string, work, "all",
          "puts, signals, moe, pairs, or all: each on 1, 2, 4 ... GPUs, pairs on all.");
ABSL_FLAG(std::uint64_t, tokens, 128, "Tokens of each rank, with --work=moe.");
ABSL_FLAG(std::uint64_t, top_k, 4, "Experts of a token.");
ABSL_FLAG(std::uint64_t, experts, 8, "Experts of each rank, with --work=moe.");
ABSL_FLAG(drydock::apps::ByteSize, bytes, {4096}, "Bytes of a token; a multiple of 4.");
ABSL_FLAG(std::uint64_t, rounds, 20, "Rounds of dispatch and combine, each with other data.");
ABSL_FLAG(std::uint64_t, count, 0,
          "Puts of each GPU, rounded up to whole batches; 0: 100000, or 2000 on stand-ins.");
ABSL_FLAG(std::uint64_t, pair_bytes, 64 << 20,
          "Bytes of a transfer between two GPUs; a power of two.");
ABSL_FLAG(std::string, profile, "p5", "The simulated machines: p5, p5en, ...");

namespace drydock::apps::gda_ranks {
namespace {

using namespace gpu::gda;  // NOLINT(build/namespaces)

const Usage kUsage = {
    .name = "gda_ranks",
    .summary =
        "ranks on one GPU to all of this machine, each with a simulated NIC that its kernels "
        "drive: "
        "puts and signals a second, dispatch and combine of a mixture of experts beside the same "
        "by stores into peers, transfers between all pairs; all checked.",
    .synopsis = "[--device=host|cuda|auto] [--gpus=N] [--work=all|puts|signals|moe|pairs]",
    .examples =
        "  gda_ranks                              everything, on 1, 2, 4 ... GPUs\n"
        "  gda_ranks --work=moe --gpus=2 --tokens=256\n"
        "  gda_ranks --device=host --gpus=3       on stand-ins for GPUs\n"
        "\nExit status: 0 all correct, 1 wrong or failed, 2 bad input."};

// The devices, and how much of them is to be used.
struct Machine {
  std::vector<std::unique_ptr<gpu::Device>> devices;
  bool stand_in = false;

  std::vector<gpu::Device*> First(std::size_t count) const {
    std::vector<gpu::Device*> some;
    for (std::size_t i = 0; i < count; ++i) some.push_back(devices[i].get());
    return some;
  }
  // 1, 2, 4, ... and all.
  std::vector<std::size_t> Counts() const {
    std::vector<std::size_t> counts;
    for (std::size_t count = 1; count < devices.size(); count *= 2) counts.push_back(count);
    counts.push_back(devices.size());
    return counts;
  }
  unsigned warp() const { return stand_in ? 2 : 32; }
};

absl::StatusOr<Machine> OpenMachine() {
  const std::string name = absl::GetFlag(FLAGS_device);
  const std::uint64_t most = absl::GetFlag(FLAGS_gpus);
  if (name != "host" && name != "cuda" && name != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--device=", name, " does not exist: host, cuda or auto"));
  }
  if (most > kMaxRanks) {
    return absl::InvalidArgumentError(absl::StrCat("--gpus=", most, " is more than ", kMaxRanks));
  }
  Machine machine;
  const absl::StatusOr<int> count = gpu::CountCudaDevices();
  const int there = count.ok() ? *count : 0;
  if (name == "cuda" && there == 0) {
    return absl::NotFoundError(absl::StrCat(count.ok() ? "no GPU here" : count.status().message(),
                                            "; --device=host stands in for GPUs"));
  }
  machine.stand_in = name == "host" || there == 0;
  std::uint64_t use = machine.stand_in ? 2 : static_cast<std::uint64_t>(there);
  if (most != 0) use = machine.stand_in ? most : std::min(use, most);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(use, kMaxRanks); ++i) {
    if (machine.stand_in) {
      machine.devices.push_back(gpu::OpenHostDevice({.ordinal = static_cast<int>(i)}));
      continue;
    }
    ASSIGN_OR_RETURN(auto device, gpu::OpenCudaDevice(static_cast<int>(i)));
    machine.devices.push_back(std::move(device));
  }
  return machine;
}

absl::Status InRange(const char* flag, std::uint64_t value, std::uint64_t least,
                     std::uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", value, " is not between ", least, " and ", most));
}

absl::StatusOr<MoeShape> ShapeFromFlags() {
  RETURN_IF_ERROR(InRange("tokens", absl::GetFlag(FLAGS_tokens), 1, 65536));
  RETURN_IF_ERROR(InRange("top-k", absl::GetFlag(FLAGS_top_k), 1, 64));
  RETURN_IF_ERROR(InRange("experts", absl::GetFlag(FLAGS_experts), 1, 1024));
  RETURN_IF_ERROR(InRange("bytes", absl::GetFlag(FLAGS_bytes).bytes, 4, 1 << 20));
  RETURN_IF_ERROR(InRange("rounds", absl::GetFlag(FLAGS_rounds), 1, 100000));
  if (absl::GetFlag(FLAGS_bytes).bytes % 4 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bytes=", absl::GetFlag(FLAGS_bytes).bytes, " is no multiple of 4"));
  }
  MoeShape shape;
  shape.tokens = static_cast<std::uint32_t>(absl::GetFlag(FLAGS_tokens));
  shape.top_k = static_cast<std::uint32_t>(absl::GetFlag(FLAGS_top_k));
  shape.experts_per_rank = static_cast<std::uint32_t>(absl::GetFlag(FLAGS_experts));
  shape.words = static_cast<std::uint32_t>(absl::GetFlag(FLAGS_bytes).bytes / 4);
  return shape;
}

// The program's result. All columns that do not apply to a row are empty.
class Results {
 public:
  Results()
      : table_("gda_ranks", Origin::kMeasured,
               {{"what"},
                {"GPUs", "gpus"},
                {"ranks"},
                {"us", "us", "us"},
                {"operations a second", "operations_per_s"},
                {"GB/s", "gbytes_per_s", "GB/s"},
                {"correct"}}) {}

  void AddRate(const std::string& what, std::size_t gpus, std::size_t ranks, const Rate& rate) {
    correct_ = correct_ && rate.correct;
    table_.AddRow({TextCell(what), CountCell(gpus), CountCell(ranks),
                   NumberCell(rate.each_ns / 1000, 3), NumberCell(rate.per_second, 0), NoCell(),
                   YesCell(rate.correct)});
  }
  void AddTime(const std::string& what, std::size_t gpus, std::size_t ranks, double us,
               bool correct) {
    correct_ = correct_ && correct;
    table_.AddRow({TextCell(what), CountCell(gpus), CountCell(ranks), NumberCell(us, 1), NoCell(),
                   NoCell(), YesCell(correct)});
  }
  void AddTransfer(const std::string& what, std::size_t gpus, const Transfer& transfer) {
    correct_ = correct_ && transfer.correct;
    table_.AddRow({TextCell(what), CountCell(gpus), CountCell(2), NoCell(), NoCell(),
                   NumberCell(transfer.gbytes_per_s, 2), YesCell(transfer.correct)});
  }

  const ResultTable& table() const { return table_; }
  bool correct() const { return correct_; }

 private:
  ResultTable table_;
  bool correct_ = true;
};

// The simulated machine, with queues that take a batch of any size: a batch is one doorbell.
absl::StatusOr<sim::Profile> ProfileFromFlags() {
  ASSIGN_OR_RETURN(const sim::Profile* const profile,
                   sim::FindProfile(absl::GetFlag(FLAGS_profile)));
  sim::Profile own = *profile;
  own.device.max_tx_batch = 0;
  return own;
}

absl::Status Puts(const Machine& machine, const sim::Profile& profile, Results& results) {
  const unsigned warp = machine.warp();
  const std::uint32_t blocks = machine.stand_in ? 2 : 8;
  const PutWay ways[] = {
      {"put, one thread, blocking", {1, 1}},
      {"put, a warp, 32 at a time", {1, warp}, 1, 32},
      {"put with signal, one thread, blocking", {1, 1}, 1, 1, true},
      {"put with signal, a warp, 32 at a time", {1, warp}, 1, 32, true},
      {absl::StrCat("put with signal, ", blocks, " blocks on ", blocks, " queues"),
       {blocks, warp},
       blocks,
       32,
       true},
      {absl::StrCat("put with signal, ", blocks, " blocks share a queue"),
       {blocks, warp},
       1,
       32,
       true,
       Sharing::kShared},
  };
  std::uint64_t count = absl::GetFlag(FLAGS_count);
  if (count == 0) count = machine.stand_in ? 2000 : 100'000;
  for (const PutWay& way : ways) {
    for (const std::size_t gpus : machine.Counts()) {
      ASSIGN_OR_RETURN(const Rate rate, MeasurePuts(profile, machine.First(gpus), way, count));
      results.AddRate(way.name, gpus, 2 * gpus, rate);
    }
  }
  return absl::OkStatus();
}

absl::Status Signals(const Machine& machine, const sim::Profile& profile, Results& results) {
  const std::uint32_t rounds = machine.stand_in ? 200 : 10'000;
  for (const std::size_t gpus : machine.Counts()) {
    ASSIGN_OR_RETURN(const Rate rate, MeasureSignals(profile, machine.First(gpus), rounds));
    results.AddRate("put with signal until it is counted", gpus, 2 * gpus, rate);
  }
  return absl::OkStatus();
}

double Median(std::vector<std::uint64_t> nanoseconds) {
  const auto middle = nanoseconds.begin() + static_cast<std::ptrdiff_t>(nanoseconds.size() / 2);
  std::nth_element(nanoseconds.begin(), middle, nanoseconds.end());
  return static_cast<double>(*middle) / 1000;
}

absl::Status Moe(const Machine& machine, const sim::Profile& profile, const MoeShape& wanted,
                 std::size_t gpus, Results& results) {
  MoeShape shape = wanted;
  std::vector<gpu::Device*> devices = machine.First(gpus);
  if (devices.size() == 1) devices.push_back(devices.front());  // two ranks at least
  shape.ranks = static_cast<std::uint32_t>(devices.size());
  const std::uint32_t queues = machine.stand_in ? 2 : kMaxQueues;
  SimRanks ranks(profile, /*seed=*/1, devices,
                 {.queues = queues, .window_bytes = MoeRun::WindowBytes(shape)});
  RETURN_IF_ERROR(ranks.Open());
  MoeRun run(ranks, shape);
  RETURN_IF_ERROR(run.Open());
  const Grid grid{queues / 2, 2 * machine.warp()};
  for (const MoeWay way : {MoeWay::kNics, MoeWay::kCopies}) {
    const std::string by = way == MoeWay::kNics ? " by NICs" : " by stores into peers";
    std::vector<std::uint64_t> dispatch, combine;
    std::uint64_t wrong = 0;
    const std::uint64_t rounds = absl::GetFlag(FLAGS_rounds);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      RETURN_IF_ERROR(run.Fill(round + (way == MoeWay::kNics ? 0 : rounds)));
      ASSIGN_OR_RETURN(const MoeTimes times, run.Round(way, grid));
      ASSIGN_OR_RETURN(const std::uint64_t more, run.CountWrong());
      wrong += more;
      dispatch.push_back(times.dispatch_ns);
      combine.push_back(times.combine_ns);
    }
    results.AddTime("dispatch" + by, gpus, shape.ranks, Median(dispatch), wrong == 0);
    results.AddTime("combine" + by, gpus, shape.ranks, Median(combine), wrong == 0);
  }
  return absl::OkStatus();
}

absl::Status Pairs(const Machine& machine, const sim::Profile& profile, Results& results) {
  const std::uint64_t bytes = absl::GetFlag(FLAGS_pair_bytes);
  for (const auto& from : machine.devices) {
    for (const auto& to : machine.devices) {
      if (from == to && machine.devices.size() > 1) continue;
      ASSIGN_OR_RETURN(const Transfer transfer, MeasureTransfer(profile, *from, *to, bytes));
      results.AddTransfer(absl::StrCat(from->name(), " to ", to->name(), ", dmabuf"),
                          from == to ? 1 : 2, transfer);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Run() {
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  const std::string work = absl::GetFlag(FLAGS_work);
  const auto asked = [&work](const char* name) { return work == "all" || work == name; };
  if (work != "all" && work != "puts" && work != "signals" && work != "moe" && work != "pairs") {
    return absl::InvalidArgumentError(
        absl::StrCat("--work=", work, " does not exist: all, puts, signals, moe, pairs"));
  }
  ASSIGN_OR_RETURN(const MoeShape shape, ShapeFromFlags());
  RETURN_IF_ERROR(InRange("count", absl::GetFlag(FLAGS_count), 0, kMostPuts));
  const std::uint64_t pair_bytes = absl::GetFlag(FLAGS_pair_bytes);
  if (pair_bytes < 8 || (pair_bytes & (pair_bytes - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pair-bytes=", pair_bytes, " is no power of two from 8 on"));
  }
  ASSIGN_OR_RETURN(const sim::Profile profile, ProfileFromFlags());
  ASSIGN_OR_RETURN(const Machine machine, OpenMachine());
  Results results;
  absl::Status status;
  if (asked("puts")) status.Update(Puts(machine, profile, results));
  if (asked("signals") && status.ok()) status.Update(Signals(machine, profile, results));
  if (asked("moe")) {
    for (const std::size_t gpus : machine.Counts()) {
      if (status.ok()) status.Update(Moe(machine, profile, shape, gpus, results));
    }
  }
  if (asked("pairs") && status.ok()) status.Update(Pairs(machine, profile, results));
  if (results.table().rows().empty()) RETURN_IF_ERROR(status);
  // What was measured before a failure is shown, too.
  if (form == OutputForm::kText) {
    for (const auto& device : machine.devices) {
      std::cout << device->name() << "  " << device->description() << "\n";
    }
    std::cout << ToText(results.table());
  } else {
    std::cout << (form == OutputForm::kJson ? ToJson(results.table()) : ToCsv(results.table()));
  }
  RETURN_IF_ERROR(status);
  return results.correct() ? kExitOk : kExitFailed;
}

int Main(int argc, char** argv) {
  const std::vector<std::string> positional = ParseCommandLineOrExit(argc, argv, kUsage);
  if (!positional.empty()) {
    return ReportError(kUsage.name, absl::InvalidArgumentError(
                                        absl::StrCat("unexpected argument '", positional[0], "'")));
  }
  const absl::StatusOr<int> code = Run();
  return EndWith(kUsage.name, code);
}

}  // namespace
}  // namespace drydock::apps::gda_ranks

int main(int argc, char** argv) { return drydock::apps::gda_ranks::Main(argc, argv); }
