#include "drydock/apps/efa_run/start.h"

#include <dlfcn.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/efa_run/program_check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/gpu/topology/hwloc_xml.h"
#include "drydock/sim/hosts/sockets/call.h"
#include "drydock/sim/hosts/sockets/network_name.h"
#include "drydock/sim/hosts/sockets/serve.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/topology/topology_of.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/verbs/sysfs_mount.h"
#include "drydock/sim/verbs/sysfs_tree.h"

namespace drydock::apps {
namespace {

using sim::verbs::Settings;

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
  // They part the names of LD_PRELOAD; the loader warns of a part that is no library, and goes on.
  if (library.find_first_of(" :") != std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat(library,
                     ": the loader takes no library whose path has a space or a colon: "
                     "move efa-run and its libraries"));
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

// Each process of the program writes its own file, whose name begins so.
absl::Status CheckFolder(absl::string_view flag, const std::string& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", file, ": cannot be written: ", std::strerror(errno)));
}

// Of names that get the number of a process: where a link of that name leads to does not matter.
bool IsSameFile(const std::filesystem::path& one, const std::filesystem::path& other) {
  const auto folder = [](const std::filesystem::path& file) {
    std::error_code error;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file).parent_path(), error);
  };
  return one.filename() == other.filename() && folder(one) == folder(other);
}

absl::Status CheckFiles(const Settings& settings) {
  if (!settings.faults.empty()) {
    const auto plan = fabric::faults::ReadFaultPlan(settings.faults);
    if (!plan.ok()) {
      return absl::Status(plan.status().code(), absl::StrCat("--faults=", plan.status().message()));
    }
  }
  if (!settings.trace.empty()) RETURN_IF_ERROR(CheckFolder("trace", settings.trace));
  if (!settings.findings_file.empty()) {
    RETURN_IF_ERROR(CheckFolder("findings-file", settings.findings_file));
  }
  const bool are_named = !settings.trace.empty() && !settings.findings_file.empty();
  if (are_named && IsSameFile(settings.trace, settings.findings_file)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--trace and --findings-file are both to be in ", settings.findings_file));
  }
  if (absl::EndsWith(settings.trace, ".html")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--trace=", settings.trace,
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
  ASSIGN_OR_RETURN(sim::CalledRendezvous called,
                   sim::CallRendezvous(settings.network, key, kPatience));
  sim::KeepThroughExec(std::move(called.stream));
  return absl::OkStatus();
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

// The program and all that it starts find the tree's files in /sys itself.
absl::Status ShowInSys(const std::string& tree) {
  absl::Status status = sim::verbs::TakeMountNamespace();
  if (status.ok()) status = sim::verbs::LayOverSysfs(tree, "/sys");
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("--sysfs: ", status.message()));
}

// The program is going to live in virtual time, and to find its memory at the same addresses in
// every run. The process that becomes it is this one.
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

// The kernel puts the words of a program and its environment above its stack: with them as long as
// in every other run, the stack is as high. 64 KiB are enough for most.
void LevelStack(const std::string& program, const std::vector<std::string>& words) {
  constexpr char kPadding[] = "DRYDOCK_EFA_PADDING";
  constexpr char kEven[] = "DRYDOCK_EFA_EVEN";
  constexpr std::size_t kRoom = 64 << 10;
  unsetenv(kEven);
  setenv(kPadding, "", 1);
  std::size_t pointers = words.size();
  std::size_t bytes = program.size() + 1;
  for (const std::string& word : words) bytes += word.size() + 1;
  for (char** variable = environ; *variable != nullptr; ++variable, ++pointers) {
    bytes += std::strlen(*variable) + 1;
  }
  if (pointers % 2 != 0) {  // the kernel rounds to two of them
    setenv(kEven, "", 1);
    bytes += sizeof kEven + 1;
    ++pointers;
  }
  const std::size_t all = bytes + pointers * sizeof(char*);
  setenv(kPadding, std::string((kRoom - all % kRoom) % kRoom, '.').c_str(), 1);
}

}  // namespace

absl::StatusOr<std::string> FindOnPath(const std::string& word) {
  const char* path = std::getenv("PATH");
  return FindProgram(word, path == nullptr ? "" : path);
}

absl::Status Start(const Request& request) {
  if (request.is_virtual && !request.settings.network.empty()) {
    return absl::InvalidArgumentError("--network: in virtual time a machine is alone");
  }
  ASSIGN_OR_RETURN(const sim::Profile profile, request.settings.MakeProfile());
  RETURN_IF_ERROR(CheckFiles(request.settings));
  ASSIGN_OR_RETURN(const std::string program, FindOnPath(request.program[0]));
  RETURN_IF_ERROR(CheckProgram(program));
  RETURN_IF_ERROR(CheckMachine());
  ASSIGN_OR_RETURN(const std::string library, FindLibrary("libdrydock_verbs.so", ""));
  RETURN_IF_ERROR(Meet(request.settings));
  const std::string topology = gpu::topology::WriteHwlocXml(sim::TopologyOf(profile));
  ASSIGN_OR_RETURN(const std::string sysfs, sim::verbs::SysfsTreeFor(profile, "/tmp", topology));
  PutInFront("LD_PRELOAD", library);
  if (request.is_virtual) RETURN_IF_ERROR(LiveInVirtualTime());
  if (request.sysfs) RETURN_IF_ERROR(ShowInSys(sysfs));
  setenv("SYSFS_PATH", request.sysfs ? "/sys" : sysfs.c_str(), 1);
  // That a file of the user's own is of this machine is for the user to say.
  if (request.topology && std::getenv("HWLOC_XMLFILE") == nullptr) {
    setenv("HWLOC_XMLFILE", (sysfs + "/machine.xml").c_str(), 1);
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
  if (!request.quiet && profile.device.max_cq_depth < kProvidersQueue) {
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
  if (request.is_virtual) LevelStack(program, request.program);
  std::vector<char*> words;
  for (const std::string& word : request.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  return absl::UnavailableError(absl::StrCat(program, ": ", std::strerror(errno)));
}

}  // namespace drydock::apps
