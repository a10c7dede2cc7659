#include "drydock/sim/verbs/lost_memory.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "drydock/sim/hosts/host.h"
#include "drydock/sim/verbs/termination.h"

namespace drydock::sim::verbs {
namespace {

struct Region {
  std::uintptr_t begin;
  std::size_t length;
};

constexpr std::array kFaults = {SIGSEGV, SIGBUS};
struct sigaction before[kFaults.size()];  // what was installed when ours was

using Name = std::pair<std::uint32_t, std::uint32_t>;  // NIC and remote key

// Of this process: a forked child is another machine, and its parent may have been changing them.
std::map<Name, Region>& Regions() {
  static auto* regions = new std::map<Name, Region>;
  static pid_t owner = getpid();
  if (owner != getpid()) {
    regions = new std::map<Name, Region>;
    owner = getpid();
  }
  return *regions;
}

// The device is at work in the host's thread, and in calls of the program. Such a thread has the
// host's mutex when it gets to a program's memory, and so the regions.
bool DeviceIsAtWork() { return TerminationDelay::inside() || Host::IsInItsThread(); }

void Explain(std::uintptr_t address) {
  for (const auto& [name, region] : Regions()) {
    if (address - region.begin >= region.length) continue;
    std::array<char, 320> line;
    const int length =
        std::snprintf(line.data(), line.size(),
                      "drydock-efa: a simulated NIC met memory at %#zx that the program has "
                      "unmapped or protected since it was registered (%zu bytes at %#zx, remote "
                      "key %u); on EFA its pages would still be pinned\n",
                      address, region.length, region.begin, name.second);
    const ssize_t written = write(STDERR_FILENO, line.data(), static_cast<std::size_t>(length));
    static_cast<void>(written);
    return;
  }
}

// The handler of before, or the kernel, is next: an access is made again when this returns. A
// signal that somebody has sent is that handler's, or is sent once more.
void OnFault(int signal, siginfo_t* info, void* context) {
  const bool is_access = info->si_code > 0;
  if (is_access && DeviceIsAtWork()) Explain(reinterpret_cast<std::uintptr_t>(info->si_addr));
  const struct sigaction& next = before[signal == kFaults[0] ? 0 : 1];
  if (!is_access && (next.sa_flags & SA_SIGINFO) != 0) {
    return next.sa_sigaction(signal, info, context);
  }
  sigaction(signal, &next, nullptr);
  if (!is_access) raise(signal);
}

}  // namespace

void RememberRegion(std::uint32_t nic, std::uint32_t key, const void* address, std::size_t length) {
  Regions()[{nic, key}] = {reinterpret_cast<std::uintptr_t>(address), length};
}

void ForgetRegion(std::uint32_t nic, std::uint32_t key) { Regions().erase({nic, key}); }

void ExplainLostMemory() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    Regions();
    for (std::size_t i = 0; i < kFaults.size(); ++i) {
      sigaction(kFaults[i], nullptr, &before[i]);
      struct sigaction ours {};
      ours.sa_sigaction = OnFault;
      ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigemptyset(&ours.sa_mask);
      sigaction(kFaults[i], &ours, nullptr);
    }
  });
}

}  // namespace drydock::sim::verbs
