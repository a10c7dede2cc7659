#include "drydock/apps/whatif/question.h"

#include <algorithm>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/whatif/choices.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/policy.h"

ABSL_FLAG(std::string, profile, "p5", "The machines at both ends: p5, p5en, p6-b200, ...");
ABSL_FLAG(std::string, size, "64KiB", "Bytes of a page: 4096, 64KiB, 1MiB.");
ABSL_FLAG(std::uint64_t, window, 64, "Pages under way on each NIC.");
ABSL_FLAG(std::uint64_t, nics, 0, "NICs that are used; 0: all of the machine's.");
ABSL_FLAG(std::uint64_t, gpus, 0, "GPUs whose memory is moved; 0: as many as the NICs are for.");
ABSL_FLAG(std::uint64_t, threads, 0, "CPU threads that drive the NICs; 0: one for each GPU.");
ABSL_FLAG(
    std::string, policy, "round-robin",
    "Which NIC carries what: round-robin, split (each page over all NICs of its GPU), by-peer, "
    "by-bytes, pinned (one NIC for each GPU), near-first (those at the GPU's switch).");
ABSL_FLAG(std::string, pattern, "paged",
          "paged: the window is kept full. drained: a window is awaited before the next, as "
          "fi_rma_bw does. single: one page at a time.");
ABSL_FLAG(std::string, op, "write", "write or read.");
ABSL_FLAG(std::string, route, "aligned",
          "aligned: between NICs of one rail. crossing: of different rails. loopback: to itself.");
ABSL_FLAG(
    std::uint64_t, pollers, 0,
    "Threads beside those, which read the completions of all NICs; 0: each thread reads those "
    "of its own NICs.");
ABSL_FLAG(std::string, memory, "gpu", "gpu, host, or far: the host's on another NUMA node.");
ABSL_FLAG(std::uint64_t, peers, 1, "Machines at the other end.");
ABSL_FLAG(std::uint64_t, receivers, 0,
          "NICs of each of them that receive; 0: as many as send. Fewer, and they are the limit.");
ABSL_FLAG(std::uint64_t, burst, 16, "Pages that one post call takes.");
ABSL_FLAG(std::uint64_t, pages, 0, "Pages in all, for the time that they take; 0: without end.");
ABSL_FLAG(bool, pin, true, "Threads are pinned to the NUMA node of their NICs.");
ABSL_FLAG(bool, far, false, "Threads that are pinned are on another NUMA node than their NICs.");
ABSL_FLAG(bool, shard, true, "Each thread has state of its own.");
ABSL_FLAG(bool, lazy, true, "Posts do not look for completions.");
ABSL_FLAG(bool, warm, true, "All NICs have been in contact with their peers.");
ABSL_FLAG(bool, bare, false, "A loop that only posts and reads, as a benchmark tool's.");
ABSL_FLAG(std::string, sweep, "", "Many values of one thing: size, nics, threads or window.");

namespace drydock::apps::whatif {
namespace {

using sim::model::Memory;
using sim::model::Pattern;
using sim::model::Route;
using sim::model::Workload;

constexpr Choice<Sweep> kSweeps[] = {{"", Sweep::kNone},
                                     {"size", Sweep::kSize},
                                     {"nics", Sweep::kNics},
                                     {"threads", Sweep::kThreads},
                                     {"window", Sweep::kWindow}};

// GPUs and threads where the flags leave them open.
void FillIn(const sim::Profile& profile, Workload& load) {
  if (load.gpus == 0) load.gpus = GpusOf(profile, load.nics);
  if (load.threads == 0) load.threads = load.gpus;
}

absl::StatusOr<Workload> WorkloadFromFlags(const sim::Profile& profile) {
  Workload load;
  load.nics = absl::GetFlag(FLAGS_nics) == 0 ? profile.nics.size() : absl::GetFlag(FLAGS_nics);
  load.gpus = absl::GetFlag(FLAGS_gpus);
  load.threads = absl::GetFlag(FLAGS_threads);
  load.pollers = absl::GetFlag(FLAGS_pollers);
  load.window = absl::GetFlag(FLAGS_window);
  load.burst = absl::GetFlag(FLAGS_burst);
  load.peers = absl::GetFlag(FLAGS_peers);
  load.receivers = absl::GetFlag(FLAGS_receivers);
  load.operations = absl::GetFlag(FLAGS_pages);
  load.pinned = absl::GetFlag(FLAGS_pin);
  load.far = absl::GetFlag(FLAGS_far);
  load.sharded = absl::GetFlag(FLAGS_shard);
  load.lazy = absl::GetFlag(FLAGS_lazy);
  load.warm = absl::GetFlag(FLAGS_warm);
  load.bare = absl::GetFlag(FLAGS_bare);
  const absl::StatusOr<std::uint64_t> bytes = ParseBytes(absl::GetFlag(FLAGS_size));
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--size=", bytes.status().message()));
  }
  load.page_bytes = *bytes;
  if (load.far && !load.pinned) {
    return absl::InvalidArgumentError("--far pins threads far from their NICs: without --nopin");
  }
  if (load.receivers > profile.nics.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--receivers=", load.receivers,
                                                   ": a machine has ",
                                                   FormatCount(profile.nics.size(), "NIC")));
  }
  ASSIGN_OR_RETURN(load.policy, fabric::async::transfer::ParsePolicy(absl::GetFlag(FLAGS_policy)));
  ASSIGN_OR_RETURN(load.pattern, Choose("pattern", absl::GetFlag(FLAGS_pattern), kPatterns));
  ASSIGN_OR_RETURN(load.direction, Choose("op", absl::GetFlag(FLAGS_op), kDirections));
  ASSIGN_OR_RETURN(load.route, Choose("route", absl::GetFlag(FLAGS_route), kRoutes));
  ASSIGN_OR_RETURN(load.memory, Choose("memory", absl::GetFlag(FLAGS_memory), kMemories));
  return load;
}

// 1, 2, 4, ... up to `most`, and that.
std::vector<std::uint64_t> Doublings(std::uint64_t first, std::uint64_t most) {
  std::vector<std::uint64_t> values;
  std::uint64_t value = first;
  for (; value <= most / 2; value *= 2) values.push_back(value);  // twice as much is a number
  if (value < most) values.push_back(value);
  values.push_back(most);
  return values;
}

std::vector<Workload> Sweeped(const sim::Profile& profile, const Workload& load, Sweep sweep) {
  constexpr std::uint64_t kLongestPage = 16 << 20;
  constexpr std::uint64_t kWidestWindow = 512;
  std::vector<Workload> loads;
  const auto add = [&](const std::vector<std::uint64_t>& values, auto member) {
    for (const std::uint64_t value : values) {
      loads.push_back(load);
      loads.back().*member = value;
    }
  };
  switch (sweep) {
    case Sweep::kNone:
      loads.push_back(load);
      break;
    case Sweep::kSize:
      add(Doublings(64, kLongestPage), &Workload::page_bytes);
      break;
    case Sweep::kNics:
      add(Doublings(std::max<std::uint64_t>(1, load.gpus), profile.nics.size()), &Workload::nics);
      break;
    case Sweep::kThreads:
      add(Doublings(1, load.nics), &Workload::threads);
      break;
    case Sweep::kWindow:
      add(Doublings(1, kWidestWindow), &Workload::window);
      break;
  }
  for (Workload& each : loads) FillIn(profile, each);
  return loads;
}

}  // namespace

std::size_t GpusOf(const sim::Profile& profile, std::size_t nics) {
  const std::size_t gpus = std::max<std::size_t>(1, profile.gpus.size());
  const std::size_t nics_per_gpu = std::max<std::size_t>(1, profile.nics.size() / gpus);
  return std::clamp<std::size_t>(nics / nics_per_gpu, 1, gpus);
}

absl::string_view Name(Sweep sweep) { return NameIn(kSweeps, sweep); }

absl::StatusOr<Question> QuestionFromFlags() {
  Question question;
  ASSIGN_OR_RETURN(question.profile, sim::FindProfile(absl::GetFlag(FLAGS_profile)));
  ASSIGN_OR_RETURN(question.sweep, Choose("sweep", absl::GetFlag(FLAGS_sweep), kSweeps));
  RETURN_IF_ERROR(RefuseFlags({Name(question.sweep)}, "is what --sweep varies"));
  ASSIGN_OR_RETURN(const Workload load, WorkloadFromFlags(*question.profile));
  const std::size_t nodes = question.profile->numa_cpus.size();
  if ((load.far || load.memory == Memory::kFar) && nodes != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("far is the other one of two NUMA nodes: of a ", question.profile->name,
                     nodes == 1 ? " there is one" : absl::StrCat(" there are ", nodes)));
  }
  question.workloads = Sweeped(*question.profile, load, question.sweep);
  return question;
}

double Value(const Workload& workload, Sweep sweep) {
  switch (sweep) {
    case Sweep::kNics:
      return static_cast<double>(workload.nics);
    case Sweep::kThreads:
      return static_cast<double>(workload.threads);
    case Sweep::kWindow:
      return static_cast<double>(workload.window);
    default:
      return static_cast<double>(workload.page_bytes);
  }
}

std::string Label(const Workload& workload, Sweep sweep) {
  if (sweep == Sweep::kNone || sweep == Sweep::kSize) return FormatBytes(workload.page_bytes);
  return absl::StrCat(Value(workload, sweep));
}

std::string Describe(const Question& question) {
  const Workload& load = question.workloads.front();
  std::vector<std::string> parts;
  const bool sweeps_nics = question.sweep == Sweep::kNics;
  if (!sweeps_nics) {
    parts.push_back(FormatCount(load.nics, "NIC"));
    parts.push_back(FormatCount(load.gpus, "GPU"));
    if (question.sweep != Sweep::kThreads) parts.push_back(FormatCount(load.threads, "thread"));
  }
  if (!load.pinned) parts.emplace_back("threads not pinned");
  if (load.pinned && load.far) parts.emplace_back("threads far from their NICs");
  if (!load.sharded) parts.emplace_back("state shared");
  parts.push_back(
      absl::StrCat(NameIn(kPatterns, load.pattern), " ", NameIn(kDirections, load.direction), "s"));
  if (question.sweep != Sweep::kSize) parts.push_back(FormatBytes(load.page_bytes));
  if (load.pattern != Pattern::kSingle) {
    if (question.sweep != Sweep::kWindow) parts.push_back(absl::StrCat("window ", load.window));
    parts.push_back(absl::StrCat("bursts of ", load.burst));
  }
  parts.emplace_back(Name(load.policy));
  if (!load.lazy) parts.emplace_back("progress in posts");
  if (load.bare) parts.emplace_back("bare loop");
  if (load.pollers > 0) parts.push_back(FormatCount(load.pollers, "poller"));
  if (load.route == Route::kCrossing) parts.emplace_back("between rails");
  if (load.route == Route::kLoopback) parts.emplace_back("to the NIC itself");
  if (load.memory != Memory::kGpu) {
    parts.push_back(load.memory == Memory::kHost ? "host memory" : "far host memory");
  }
  if (load.peers > 1) parts.push_back(FormatCount(load.peers, "peer"));
  if (load.receivers > 0) {
    parts.push_back(absl::StrCat(FormatCount(load.receivers, "NIC"),
                                 load.receivers == 1 ? " receives" : " receive"));
  }
  std::string text;
  for (const std::string& part : parts) absl::StrAppend(&text, text.empty() ? "" : ", ", part);
  return text;
}

}  // namespace drydock::apps::whatif
