// What the NICs can do, as their driver tells it. Where the bits come from: linux-rdma/rdma-core
// providers/efa/efadv.h, EFADV_DEVICE_ATTR_CAPS_*; they are informations: a program asks for what
// it needs.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/doctor/checks.h"

namespace drydock::apps::doctor {
namespace {

struct Capability {
  unsigned bit;
  const char* name;
};
constexpr Capability kCapabilities[] = {
    {0, "RDMA read"},
    {3, "RDMA write"},
    {1, "receiver-not-ready retry"},
    {4, "unsolicited write receive"},
    {2, "CQs that tell an unknown sender's GID"},
    {5, "CQs in a dmabuf"},
    {6, "completion counters"},
};

// "RDMA read, RDMA write; not: completion counters".
std::string WordsFor(std::uint32_t capabilities) {
  std::vector<std::string> there, missing;
  for (const Capability& one : kCapabilities) {
    const bool has = (capabilities >> one.bit & 1) != 0;
    (has ? there : missing).push_back(one.name);
  }
  std::string words = there.empty() ? "messages only" : absl::StrJoin(there, ", ");
  if (!missing.empty()) absl::StrAppend(&words, "; not: ", absl::StrJoin(missing, ", "));
  return words;
}

}  // namespace

void CheckCapabilities(const MachineFacts& machine, Probes& probes, Findings& findings) {
  const LibraryCopy* const verbs = LoadedCopy(machine.libibverbs);
  const LibraryCopy* const efa = LoadedCopy(machine.libefa);
  if (verbs == nullptr || efa == nullptr || !verbs->problem.empty() || !efa->problem.empty()) {
    return;  // rdma-core's own finding says it
  }
  const auto answers = probes.AskDevices(verbs->path, efa->path);
  if (!answers.ok()) {
    findings.Warning(
        "capabilities",
        absl::StrCat("rdma-core was loaded and asked: ", answers.status().message()),
        "install the rdma-core of the EFA installer again: programs that link it may end alike");
    return;
  }
  std::map<std::uint32_t, std::vector<std::string>> alike;
  std::vector<std::string> closed;
  for (const DeviceAnswer& answer : *answers) {
    if (answer.opened) {
      alike[answer.capabilities].push_back(answer.name);
    } else {
      closed.push_back(answer.name);
    }
  }
  for (const auto& [capabilities, names] : alike) {
    const std::string who = alike.size() > 1    ? absl::StrJoin(names, ", ") + ": "
                            : names.size() == 1 ? "the NIC has "
                                                : absl::StrCat("all ", names.size(), " NICs have ");
    findings.Info("capabilities", absl::StrCat(who, WordsFor(capabilities)));
  }
  if (!closed.empty()) {
    findings.Info("capabilities",
                  absl::StrCat("cannot be opened, and asked: ", absl::StrJoin(closed, ", ")));
  }
}

}  // namespace drydock::apps::doctor
