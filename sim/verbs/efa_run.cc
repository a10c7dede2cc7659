// efa-run: runs any libfabric program on simulated EFA. See --help and docs/efa-run.md.

#include <dlfcn.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "coro/status_macros.h"
#include "gpu/topology/hwloc_xml.h"
#include "sim/hosts/sockets/call.h"
#include "sim/hosts/sockets/network_name.h"
#include "sim/hosts/sockets/serve.h"
#include "sim/profile/profile.h"
#include "sim/topology/topology_of.h"
#include "sim/verbs/program_check.h"
#include "sim/verbs/seed_runs.h"
#include "sim/verbs/settings.h"
#include "sim/verbs/sysfs_tree.h"
#include "sim/virtual_time/virtual_time.h"

namespace {

using sim::verbs::Settings;

constexpr char kHelp[] =
    R"(Runs a program on simulated EFA: libfabric's own provider `efa`, over NICs that are not there.

  efa-run [FLAGS] PROGRAM [ARGUMENT...]

  efa-run fi_info -p efa                                the NICs that the program sees
  efa-run fi_pingpong -p efa -e rdm -c &                two processes, which are two machines
  efa-run fi_pingpong -p efa -e rdm -c 127.0.0.1
  efa-run --nics=4 --faults=plan.json ./my_program      what goes wrong (docs/faults.md)
  efa-run --trace=out.json ./my_program                 what the NICs did, for ui.perfetto.dev
  efa-run --findings=fail ./my_program                  what the program does wrong (docs/checks.md)

Processes that are started with the same --fabric, --seed and --profile reach each other; those of several computers,
containers or network namespaces with the same --network, too.

  efa-run --network=tcp://10.0.0.1:7471 fi_pingpong -p efa -e rdm -c             on 10.0.0.1, which makes the key
  efa-run --network=tcp://10.0.0.1:7471 fi_pingpong -p efa -e rdm -c 10.0.0.1    on 10.0.0.2, with a copy of it

  --profile=NAME   the kind of machine (default p5): )";

constexpr char kMoreHelp[] = R"(
  --nics=N         only the first N of its NICs (default: all)
  --seed=N         of everything random (default 1)
  --fabric=NAME    the network that the program joins (default: default)
  --zone=N         the availability zone of the machine (default 0): another one cannot be reached
  --delays=off     nothing takes the time that it takes on EFA (default on): for tests that only have to be fast
  --network=tcp://HOST:PORT   where computers meet: the first program on HOST serves there, until the last has left;
                   --network=tcp is the first host of Slurm's step, or that of Open MPI 4's mpirun
  --key=FILE       who has it may join the network (default ~/.drydock-efa-key); HOST makes it where it is missing
  --faults=FILE    a fault plan in JSON, for the NICs of this process
  --trace=FILE     writes what each process did to FILE, its process number before the extension, when it ends
  --findings=MODE  rules of EFA that the program breaks (docs/checks.md), a line each on standard error, with the calls that
                   led there: report (default) says them; fail, too, and a process that would have ended with exit status 0
                   ends with 1; off does not look
  --findings-file=FILE  writes those of each process to FILE, in JSON, its process number before the extension, when it ends
  --topology       hwloc shows the program the profile's machine instead of this one (HWLOC_XMLFILE): for plugins that
                   choose NICs by it; not for mpirun, which then finds none of its processors
  --virtual        the program lives in virtual time: its clock follows the simulated network, its waits take no time, and a
                   run is one function of its seed; for programs of one process and one thread, others are refused
  --digest         the same, and says at the end what the run came to: one line of 32 hexadecimal digits
  --seeds=A..B     the same, for each of these seeds, as many at a time as there are processors; says what the first that fails
                   says, how to run it again, and which ones failed; exit status 1 when one did. A finding fails a run, unless
                   --findings says otherwise. Runs have no standard input
  --limit=SECONDS  of virtual time (default 3600): who lives longer hangs, and ends with exit status 124
  --quiet          does not say what is simulated
  --help           this

Unless they are set: FI_EFA_ENABLE_SHM_TRANSFER=0, so that endpoints of one computer use NICs at all;
FI_EFA_USE_DEVICE_RDMA=1 where the NICs can read; FI_EFA_USE_DATA_PATH_DIRECT=0, because a doorbell in memory is seen late
where there are fewer processors than polling threads. What it sets, and what that costs: docs/efa-run.md.

The simulated NICs move bytes between memory of the host; what the simulation does not model: docs/fidelity.md.
Exit status: the program's, or 1 with --findings=fail; 124 for a hang in virtual time; 2 when it could not be run, with one line that says why.
)";

struct Request {
  Settings settings;
  bool quiet = false;
  bool help = false;
  bool topology = false;
  bool is_virtual = false;
  std::optional<sim::verbs::SeedRange> seeds;  // instead of one
  std::vector<char*> program;                  // with its arguments, and a null at the end
  std::string self;                            // how efa-run was named
  std::vector<std::string> flags;              // all but --seeds, as they were given
};

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

// The flags are told to the program's process by the environment; reading them back from there is
// how they are checked.
absl::StatusOr<Request> Parse(int count, char** words) {
  static constexpr struct {
    const char* flag;
    const char* variable;
  } kFlags[] = {{"--profile=", sim::verbs::kProfileVariable},
                {"--nics=", sim::verbs::kNicsVariable},
                {"--seed=", sim::verbs::kSeedVariable},
                {"--fabric=", sim::verbs::kFabricVariable},
                {"--zone=", sim::verbs::kZoneVariable},
                {"--delays=", sim::verbs::kDelaysVariable},
                {"--faults=", sim::verbs::kFaultsVariable},
                {"--trace=", sim::verbs::kTraceVariable},
                {"--limit=", sim::kLimitVariable},
                {"--findings=", sim::verbs::kFindingsVariable},
                {"--findings-file=", sim::verbs::kFindingsFileVariable},
                {"--network=", sim::verbs::kNetworkVariable},
                {"--key=", sim::verbs::kKeyVariable}};
  Request request;
  request.self = words[0];
  bool has_limit = false;
  int next = 1;
  for (; next < count && absl::StartsWith(words[next], "-"); ++next) {
    absl::string_view word = words[next];
    if (word == "--") {
      ++next;
      break;
    }
    if (absl::string_view value = word; absl::ConsumePrefix(&value, "--seeds=")) {
      ASSIGN_OR_RETURN(request.seeds, sim::verbs::ParseSeedRange(value));
      request.is_virtual = true;
      continue;
    }
    request.flags.emplace_back(word);
    has_limit = has_limit || absl::StartsWith(word, "--limit=");
    bool known = word == "--quiet" || word == "--help" || word == "--topology" ||
                 word == "--virtual" || word == "--digest";
    request.is_virtual = request.is_virtual || word == "--virtual" || word == "--digest";
    if (word == "--digest") setenv(sim::verbs::kDigestVariable, "1", 1);
    request.topology = request.topology || word == "--topology";
    if (word == "--findings") word = "--findings=report";
    request.quiet = request.quiet || word == "--quiet";
    request.help = request.help || word == "--help";
    for (const auto& flag : kFlags) {
      absl::string_view value = word;
      if (!absl::ConsumePrefix(&value, flag.flag)) continue;
      setenv(flag.variable, std::string(value).c_str(), 1);
      known = true;
    }
    if (!known) return Bad(absl::StrCat("unknown flag ", word, " (--help lists them)"));
  }
  if (has_limit && !request.is_virtual) return Bad("--limit is of virtual time: with --virtual");
  if (request.seeds.has_value() && std::getenv(sim::verbs::kDigestVariable) != nullptr) {
    return Bad("--digest is of one run: with --seed, not with --seeds");
  }
  // A run among many that breaks a rule is one to be told of.
  if (request.seeds.has_value() && std::getenv(sim::verbs::kFindingsVariable) == nullptr) {
    request.flags.emplace_back("--findings=fail");
    setenv(sim::verbs::kFindingsVariable, "fail", 1);
  }
  setenv(sim::verbs::kFindingsVariable, "report", 0);
  if (request.help) return request;
  if (next >= count) return Bad("no program to run (--help shows how)");
  request.program.assign(words + next, words + count);
  request.program.push_back(nullptr);
  ASSIGN_OR_RETURN(request.settings, Settings::FromEnvironment([](const char* name) {
                     return static_cast<const char*>(std::getenv(name));
                   }));
  return request;
}

// Files are named from where the user is, also when a build tool has gone elsewhere.
absl::Status GoWhereTheUserIs() {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || chdir(folder) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(folder, ": ", std::strerror(errno)));
}

// Beside this program, or where Bazel puts it.
absl::StatusOr<std::string> FindLibrary(const char* name, const char* built) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string library = (self.parent_path() / name).string();
  if (access(library.c_str(), R_OK) != 0) {
    library = (self.parent_path() / built / name).lexically_normal().string();
  }
  if (error || access(library.c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(library, ": not there (it is built with efa-run)"));
  }
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return absl::UnavailableError(dlerror());
  return library;
}

absl::Status CheckMachine() {
  // A libfabric that has the provider efa is linked with these; its loader wants them to be there.
  for (const char* library : {"libibverbs.so.1", "libefa.so.1"}) {
    if (dlopen(library, RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      return absl::NotFoundError(absl::StrCat(
          library,
          " is missing: install rdma-core's libraries (Debian: apt-get install "
          "libibverbs1 ibverbs-providers), without which libfabric has no provider efa"));
    }
  }
  if (access("/dev/shm", R_OK | W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("/dev/shm: ", std::strerror(errno), ": processes cannot share memory here"));
  }
  return absl::OkStatus();
}

absl::Status CheckFiles(const Settings& settings) {
  if (!settings.faults.empty() && access(settings.faults.c_str(), R_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("--faults=", settings.faults, ": ", std::strerror(errno)));
  }
  if (absl::EndsWith(settings.trace, ".html")) {
    return Bad(absl::StrCat("--trace=", settings.trace,
                            ": a trace of efa-run is JSON; trace_html makes a page of one "
                            "(docs/efa-run.md)"));
  }
  return absl::OkStatus();
}

// Serves the network if it begins here, and tries whether it lets us in. Sets what the program's
// process needs, also where it does not know the launcher any more.
absl::Status Meet(const Settings& settings) {
  if (settings.network.empty()) return absl::OkStatus();
  const std::string key = std::filesystem::absolute(settings.key);
  setenv(sim::verbs::kNetworkVariable, settings.network.c_str(), 1);
  setenv(sim::verbs::kKeyVariable, key.c_str(), 1);
  ASSIGN_OR_RETURN(const sim::NetworkName network, sim::ParseNetworkName(settings.network));
  RETURN_IF_ERROR(sim::ServeIfFirst(network, key).status());
  constexpr auto kPatience = std::chrono::seconds(30);  // for computers that begin later
  return sim::CallRendezvous(settings.network, key, kPatience).status();
}

void PutInFront(const char* variable, const std::string& value) {
  const char* before = std::getenv(variable);
  const std::string all =
      before == nullptr || before[0] == '\0' ? value : absl::StrCat(value, ":", before);
  setenv(variable, all.c_str(), 1);
}

// Files that the program's process opens have to be named for any folder it goes to.
void MakeAbsolute(const char* variable, const std::string& file) {
  if (!file.empty()) setenv(variable, std::filesystem::absolute(file).c_str(), 1);
}

// The program is going to live in virtual time, and to find its memory at the same addresses in every
// run. The process that becomes it is this one.
absl::Status LiveInVirtualTime() {
  ASSIGN_OR_RETURN(const std::string library, FindLibrary("libdrydock_time.so", "../virtual_time"));
  PutInFront("LD_PRELOAD", library);
  setenv(sim::verbs::kVirtualVariable, absl::StrFormat("%010d", getpid()).c_str(), 1);
  // Another provider measures the processor's clock, which goes on by itself.
  setenv("FI_PROVIDER", "efa", 0);
  setenv("FI_EFA_USE_DATA_PATH_DIRECT", "0", 1);  // nothing happens at a doorbell in memory
  if (personality(ADDR_NO_RANDOMIZE) == -1) {
    return absl::UnavailableError(
        absl::StrCat("--virtual: addresses stay random here: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

// Returns only when the program could not be started.
absl::Status Run(Request& request) {
  RETURN_IF_ERROR(GoWhereTheUserIs());
  if (request.is_virtual && !request.settings.network.empty()) {
    return Bad("--network: in virtual time a machine is alone");
  }
  ASSIGN_OR_RETURN(const sim::Profile profile, request.settings.MakeProfile());
  RETURN_IF_ERROR(CheckFiles(request.settings));
  const char* path = std::getenv("PATH");
  ASSIGN_OR_RETURN(const std::string program,
                   sim::verbs::FindProgram(request.program[0], path == nullptr ? "" : path));
  RETURN_IF_ERROR(sim::verbs::CheckProgram(program));
  RETURN_IF_ERROR(CheckMachine());
  ASSIGN_OR_RETURN(const std::string library, FindLibrary("libdrydock_verbs.so", ""));
  RETURN_IF_ERROR(Meet(request.settings));
  const std::string topology = gpu::topology::WriteHwlocXml(sim::TopologyOf(profile));
  ASSIGN_OR_RETURN(const std::string sysfs, sim::verbs::SysfsTreeFor(profile, "/tmp", topology));
  PutInFront("LD_PRELOAD", library);
  if (request.is_virtual) RETURN_IF_ERROR(LiveInVirtualTime());
  setenv("SYSFS_PATH", sysfs.c_str(), 1);
  if (request.topology) {
    setenv("HWLOC_XMLFILE", (sysfs + "/machine.xml").c_str(), 0);
    setenv("HWLOC_THISSYSTEM", "1", 0);
  }
  // Two endpoints with one GID would not use the NIC at all.
  setenv("FI_EFA_ENABLE_SHM_TRANSFER", "0", 0);
  // A doorbell that the program rings without a call is only seen when our thread looks at it.
  setenv("FI_EFA_USE_DATA_PATH_DIRECT", "0", 0);
  // Left alone, libfabric 1.17 makes queue pairs without reads, and then reads with them. Told so
  // of a device that cannot read, it ends the program.
  if (profile.device.rdma_read) setenv("FI_EFA_USE_DEVICE_RDMA", "1", 0);
  // It asks for one queue of so many entries an endpoint, and dies of a refusal (double free).
  constexpr std::uint32_t kProvidersQueue = 8192;
  if (profile.device.max_cq_depth < kProvidersQueue) {
    std::fprintf(stderr,
                 "efa-run: on profile %s libfabric's fabric efa opens no endpoint: its completion "
                 "queues have %u entries; efa-direct and programs of libibverbs run\n",
                 profile.name.c_str(), profile.device.max_cq_depth);
  }
  MakeAbsolute(sim::verbs::kFaultsVariable, request.settings.faults);
  MakeAbsolute(sim::verbs::kTraceVariable, request.settings.trace);
  MakeAbsolute(sim::verbs::kFindingsFileVariable, request.settings.findings_file);
  if (!request.quiet) {
    std::fprintf(
        stderr, "efa-run: simulated EFA: profile %s (%s), %zu NIC%s, seed %llu, fabric %s%s%s\n",
        profile.name.c_str(), profile.description.c_str(), profile.nics.size(),
        profile.nics.size() == 1 ? "" : "s", static_cast<unsigned long long>(request.settings.seed),
        request.settings.fabric.c_str(), request.settings.network.empty() ? "" : ", network ",
        request.settings.network.c_str());
  }
  execv(program.c_str(), request.program.data());
  return absl::UnavailableError(absl::StrCat(program, ": ", std::strerror(errno)));
}

// The command that is this run again.
std::string CommandFor(const Request& request, std::uint64_t seed) {
  std::vector<std::string> words = {request.self, "--virtual", absl::StrCat("--seed=", seed)};
  for (const std::string& flag : request.flags) {
    if (flag != "--virtual" && !absl::StartsWith(flag, "--seed=")) words.push_back(flag);
  }
  if (absl::StartsWith(request.program[0], "-")) words.emplace_back("--");
  words.insert(words.end(), request.program.begin(), request.program.end() - 1);
  return sim::verbs::AsShellWords(words);
}

// Says of many runs what came of them, while they go on.
class SeedReport {
 public:
  explicit SeedReport(const Request& request) : request_(request) {}

  // Whether more runs are worth it.
  bool Add(const sim::verbs::EndedRun& run) {
    ++runs_;
    if (run.status != 0) Failed(run);
    const auto now = std::chrono::steady_clock::now();
    if (is_watched_ && now - said_ > std::chrono::seconds(1)) {
      said_ = now;
      std::fprintf(stderr, "\r%llu seeds, %zu failed ", static_cast<unsigned long long>(runs_),
                   failed_.size());
    }
    return was_run_;
  }
  // Returns the exit status of all.
  int End() {
    EndLine();
    if (!was_run_) return 2;
    std::sort(failed_.begin(), failed_.end());
    constexpr std::size_t kNamed = 20;
    const std::size_t named = std::min(failed_.size(), kNamed);
    const std::string seeds =
        absl::StrJoin(failed_.begin(), failed_.begin() + static_cast<std::ptrdiff_t>(named), ", ");
    std::fprintf(stderr, "efa-run: %zu of %llu seeds failed%s%s%s\n", failed_.size(),
                 static_cast<unsigned long long>(runs_), named > 0 ? ": " : "", seeds.c_str(),
                 failed_.size() > named ? ", ..." : "");
    return failed_.empty() ? 0 : 1;
  }

 private:
  void EndLine() {
    if (is_watched_) std::fputs("\r\033[K", stderr);
  }
  // The first one says what it said: whoever sees it need not wait for the others.
  void Failed(const sim::verbs::EndedRun& run) {
    failed_.push_back(run.seed);
    if (!was_run_ || (failed_.size() > 1 && run.was_run)) return;
    EndLine();
    std::fwrite(run.output.data(), 1, run.output.size(), stderr);
    if (!run.output.empty() && run.output.back() != '\n') std::fputc('\n', stderr);
    was_run_ = run.was_run;
    if (!run.was_run) return;
    std::fprintf(stderr, "efa-run: seed %llu: exit status %d; again: %s\n",
                 static_cast<unsigned long long>(run.seed), run.status,
                 CommandFor(request_, run.seed).c_str());
  }

  const Request& request_;
  const bool is_watched_ = isatty(STDERR_FILENO) != 0;
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
  std::uint64_t runs_ = 0;
  std::vector<std::uint64_t> failed_;
  bool was_run_ = true;  // what cannot be run with one seed cannot with another
};

// Returns the exit status of all.
absl::StatusOr<int> RunAllSeeds(Request& request) {
  SeedReport report(request);
  const auto become = [&](std::uint64_t seed) {
    setenv(sim::verbs::kSeedVariable, absl::StrCat(seed).c_str(), 1);
    request.settings.seed = seed;
    std::fprintf(stderr, "efa-run: %s\n", std::string(Run(request).message()).c_str());
    return 2;
  };
  RETURN_IF_ERROR(sim::verbs::RunSeeds(
      *request.seeds, become, [&](const sim::verbs::EndedRun& run) { return report.Add(run); }));
  return report.End();
}

void PrintHelp() {
  std::fputs(kHelp, stdout);
  const char* separator = "";
  for (const sim::Profile& profile : sim::Profiles()) {
    std::printf("%s%s", separator, profile.name.c_str());
    separator = ", ";
  }
  std::fputs(kMoreHelp, stdout);
}

}  // namespace

int main(int count, char** words) {
  absl::StatusOr<Request> request = Parse(count, words);
  if (request.ok() && request->help) {
    PrintHelp();
    return 0;
  }
  absl::Status status = request.status();
  if (request.ok() && request->seeds.has_value()) {
    const absl::StatusOr<int> all = RunAllSeeds(*request);
    if (all.ok()) return *all;
    status = all.status();
  } else if (request.ok()) {
    status = Run(*request);
  }
  std::fprintf(stderr, "efa-run: %s\n", std::string(status.message()).c_str());
  return 2;
}
