// Where the thresholds come from: linux-rdma/rdma-core debian/libibverbs1.symbols and
// providers/efa/libefa.map with its release tags; ofiwg/libfabric NEWS.md and prov/efa.

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/doctor/checks.h"

namespace drydock::apps::doctor {
namespace {

constexpr char kRdmaCoreFix[] =
    "install rdma-core (Debian: apt-get install libibverbs1 ibverbs-providers), or the EFA "
    "installer's, which is newer";
constexpr char kLibfabricFix[] =
    "install the EFA installer's libfabric, and put it first: "
    "export LD_LIBRARY_PATH=/opt/amazon/efa/lib (lib64 on Amazon Linux)";

std::string Name(const LibraryCopy& copy, absl::string_view what) {
  return copy.version.has_value() ? absl::StrCat(what, " ", FormatVersion(*copy.version, 2))
                                  : absl::StrCat(what, " of an unknown release");
}

// ---- rdma-core ----

void CheckRdmaCore(const MachineFacts& machine, Findings& findings) {
  const LibraryCopy* const verbs = LoadedCopy(machine.libibverbs);
  const LibraryCopy* const efa = LoadedCopy(machine.libefa);
  for (const auto& [copy, name] : {std::pair(verbs, "libibverbs.so.1"), {efa, "libefa.so.1"}}) {
    if (copy == nullptr) {
      findings.Cannot("rdma-core", absl::StrCat("the loader finds no ", name), kRdmaCoreFix);
      return;
    }
    if (!copy->problem.empty()) {
      findings.Cannot("rdma-core", copy->problem, kRdmaCoreFix);
      return;
    }
  }
  const std::string what = absl::StrCat(Name(*efa, "rdma-core"), " (", efa->file, " has ",
                                        absl::StrJoin(efa->elf.versions, " "), ")");
  if (verbs->version.has_value() && efa->version.has_value() && verbs->version != efa->version) {
    findings.Warning("rdma-core",
                     absl::StrCat("libibverbs is of ", Name(*verbs, "rdma-core"), " (", verbs->file,
                                  "), libefa of ", Name(*efa, "rdma-core"), " (", efa->file, ")"),
                     "install both from one package; two releases share private structures");
  } else if (verbs->elf.symbols.count("ibv_reg_dmabuf_mr") == 0) {
    findings.Warning("rdma-core", absl::StrCat(what, ": no ibv_reg_dmabuf_mr, which came with 34"),
                     kRdmaCoreFix);
  } else if (efa->version.has_value() && *efa->version < kFirstWithRdmaWrite) {
    findings.Warning("rdma-core",
                     absl::StrCat(what,
                                  ": no RDMA write, which came with 46; libfabric makes "
                                  "messages of writes, and has no efa-direct"),
                     kRdmaCoreFix);
  } else if (efa->elf.symbols.count("efadv_query_qp_wqs") == 0) {
    findings.Info("rdma-core",
                  absl::StrCat(what,
                               ": no efadv_query_qp_wqs, which came with 59; without it "
                               "libfabric's direct data path and transfers that a GPU starts "
                               "are off"),
                  "the EFA installer's rdma-core has it");
  } else {
    findings.Ok("rdma-core", what);
  }
}

// ---- libfabric ----

// What a release lacks, the newest feature last.
std::vector<std::string> LackingIn(const Version& version) {
  std::vector<std::string> lacking;
  if (version < Version{1, 18, 0}) lacking.emplace_back("RDMA of the device by default (1.18)");
  if (version < Version{1, 20, 0}) lacking.emplace_back("dmabuf (1.20)");
  if (version < kFirstWithEfaDirect) lacking.emplace_back("efa-direct (2.1)");
  if (version < Version{2, 3, 0}) lacking.emplace_back("transfers that a GPU starts (2.3)");
  return lacking;
}

bool HasEfaProvider(const MachineFacts& machine, const LibraryCopy& copy) {
  const auto& needs = copy.elf.needs;
  if (std::find(needs.begin(), needs.end(), "libefa.so.1") != needs.end()) return true;
  const std::string folder = copy.file.substr(0, copy.file.rfind('/'));
  return machine.files.Exists(folder + "/libfabric/libefa-fi.so");  // a provider in its own file
}

void CheckLibfabric(const MachineFacts& machine, Findings& findings) {
  const LibraryCopy* const copy = LoadedCopy(machine.libfabric);
  if (copy == nullptr && machine.libfabric.empty()) {
    findings.Cannot("libfabric", "there is no libfabric.so.1", kLibfabricFix);
    return;
  }
  if (copy == nullptr) {
    findings.Cannot("libfabric",
                    absl::StrCat(machine.libfabric.front().path,
                                 " is there, and the loader does not "
                                 "look there"),
                    kLibfabricFix);
    return;
  }
  if (!copy->problem.empty()) {
    findings.Cannot("libfabric", copy->problem, kLibfabricFix);
    return;
  }
  const std::string what =
      absl::StrCat(Name(*copy, "libfabric"), " (", copy->path, ", through ", copy->through, ")");
  if (!HasEfaProvider(machine, *copy)) {
    findings.Cannot("libfabric", absl::StrCat(what, " has no provider efa"), kLibfabricFix);
    return;
  }
  if (!copy->version.has_value()) {
    findings.Info("libfabric", absl::StrCat(what, ": no file tells its release"));
    return;
  }
  const std::vector<std::string> lacking = LackingIn(*copy->version);
  if (lacking.empty()) {
    findings.Ok("libfabric", what);
  } else if (lacking.size() == 1) {
    findings.Info("libfabric", absl::StrCat(what, " lacks ", lacking.front()));
  } else {
    findings.Warning("libfabric", absl::StrCat(what, " lacks ", absl::StrJoin(lacking, ", ")),
                     kLibfabricFix);
  }
}

bool IsInstallers(const LibraryCopy& copy) { return absl::StartsWith(copy.path, "/opt/amazon/"); }

void CheckCopies(const MachineFacts& machine, Findings& findings) {
  if (machine.libfabric.size() < 2) return;
  std::vector<std::string> paths;
  for (const LibraryCopy& copy : machine.libfabric) paths.push_back(copy.path);
  const std::string list = absl::StrJoin(paths, ", ");
  const LibraryCopy* const loaded = LoadedCopy(machine.libfabric);
  const bool hidden = std::any_of(machine.libfabric.begin(), machine.libfabric.end(), IsInstallers);
  if (loaded != nullptr && hidden && !IsInstallers(*loaded)) {
    findings.Warning(
        "libfabric-copies",
        absl::StrCat("a distribution's libfabric hides the EFA installer's; the loader "
                     "takes the first of ",
                     list),
        kLibfabricFix);
  } else {
    findings.Info(
        "libfabric-copies",
        absl::StrCat(machine.libfabric.size(), " libfabrics, the first is used: ", list),
        "programs with a path of their own (rpath, a Python wheel) may take another; look "
        "at a running one with --pid=N");
  }
}

// "libfabric.so.1.25.0", and "libfabric-1a2b3c4d.so.1.25.0" of a Python wheel.
bool IsLibfabricFile(absl::string_view name) {
  return absl::StartsWith(name, "libfabric.so") ||
         (absl::StartsWith(name, "libfabric-") && absl::StrContains(name, ".so"));
}

// Two libfabrics in one process: each opens the devices for itself, and a plug-in that meets the
// wrong one finds none.
void CheckLoaded(const MachineFacts& machine, Findings& findings) {
  constexpr std::size_t kMaxMaps = 64 << 20;
  const auto maps = machine.files.Read(machine.process + "/maps", kMaxMaps);
  if (!maps.ok()) return;
  std::set<std::string> loaded;
  for (const absl::string_view line : absl::StrSplit(*maps, '\n')) {
    const std::size_t slash = line.find('/');
    if (slash == absl::string_view::npos) continue;
    const std::string path = Printable(line.substr(slash));
    if (IsLibfabricFile(BaseName(path))) loaded.insert(path);
  }
  if (loaded.size() >= 2) {
    findings.Warning("libfabric-loaded",
                     absl::StrCat("the process has ", loaded.size(),
                                  " libfabrics in its memory: ", absl::StrJoin(loaded, ", ")),
                     "keep one: build every part with the same libfabric, and remove the copies in "
                     "Python wheels; the second one finds no NIC, and NCCL falls back to TCP");
  } else if (loaded.size() == 1) {
    findings.Ok("libfabric-loaded", absl::StrCat("the process has loaded ", *loaded.begin()));
  }
}

// What the loader would refuse: a version of a symbol that a library asks for and that the one it
// gets does not define.
void CheckSymbols(const MachineFacts& machine, Findings& findings) {
  const LibraryCopy* const asking = LoadedCopy(machine.libfabric);
  if (asking == nullptr || !asking->problem.empty()) return;
  int asked = 0;
  for (const VersionNeed& need : asking->elf.version_needs) {
    const auto* const copies = need.library == "libefa.so.1"       ? &machine.libefa
                               : need.library == "libibverbs.so.1" ? &machine.libibverbs
                                                                   : nullptr;
    const LibraryCopy* const giving = copies == nullptr ? nullptr : LoadedCopy(*copies);
    if (giving == nullptr || !giving->problem.empty()) continue;
    ++asked;
    if (need.weak || giving->elf.versions.count(need.version) > 0) continue;
    findings.Cannot(
        "symbol-versions",
        absl::StrCat(asking->path, " asks ", need.library, " for ", Printable(need.version),
                     ", and ", Name(*giving, "rdma-core"), " (", giving->file, ") has only ",
                     Printable(absl::StrJoin(giving->elf.versions, " "))),
        "programs end with `version ... not found`: use the rdma-core that this libfabric was "
        "built "
        "with; in a container, install both there (efa_installer.sh -y --skip-kmod)");
    return;
  }
  if (asked > 0) {
    findings.Ok("symbol-versions",
                absl::StrCat("rdma-core has all ", asked, " versions that libfabric asks for"));
  }
}

std::size_t CountOffers(const LibfabricAnswer& answer, absl::string_view fabric) {
  std::set<std::string> domains;
  for (const FabricOffer& offer : answer.offers) {
    if (offer.fabric == fabric) domains.insert(offer.domain);
  }
  return domains.size();
}

void AskProvider(const MachineFacts& machine, Probes& probes, Findings& findings) {
  const LibraryCopy* const copy = LoadedCopy(machine.libfabric);
  if (copy == nullptr || !copy->problem.empty()) return;
  const absl::StatusOr<LibfabricAnswer> answer = probes.AskLibfabric(copy->path);
  if (!answer.ok()) {
    findings.Cannot("provider",
                    absl::StrCat(copy->path, " was loaded and asked: ", answer.status().message()),
                    kLibfabricFix);
    return;
  }
  const std::string version = absl::StrCat("libfabric ", FormatVersion(answer->version, 2));
  if (!machine.has_efa()) {
    findings.Info("provider", absl::StrCat(version, " can be loaded"));
  } else if (answer->offers.empty()) {
    findings.Cannot(
        "provider",
        absl::StrCat(version, " offers no NIC of the provider efa (fi_getinfo: ", answer->error,
                     ")"),
        "repair the errors above; then FI_LOG_LEVEL=info fi_info -p efa prints the reasons");
  } else if (CountOffers(*answer, "efa-direct") == 0) {
    findings.Warning("provider",
                     absl::StrCat(version, " offers ", CountOffers(*answer, "efa"),
                                  " domains of efa, and none of efa-direct"),
                     "run programs with --provider=efa; efa-direct needs libfabric 2.1, and NICs "
                     "with RDMA read and write");
  } else {
    findings.Ok("provider",
                absl::StrCat(version, " offers ", CountOffers(*answer, "efa-direct"),
                             " domains of efa-direct, ", CountOffers(*answer, "efa"), " of efa"));
  }
}

}  // namespace

void CheckLibraries(const MachineFacts& machine, Probes* probes, Findings& findings) {
  CheckRdmaCore(machine, findings);
  CheckLibfabric(machine, findings);
  CheckCopies(machine, findings);
  CheckLoaded(machine, findings);
  CheckSymbols(machine, findings);
  if (probes != nullptr) AskProvider(machine, *probes, findings);
}

}  // namespace drydock::apps::doctor
