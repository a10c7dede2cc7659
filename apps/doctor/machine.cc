#include "drydock/apps/doctor/machine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/apps/doctor/finding.h"

namespace drydock::apps::doctor {
namespace {

constexpr char kDmi[] = "/sys/devices/virtual/dmi/id/";
constexpr char kPci[] = "/sys/bus/pci/devices/";
constexpr char kRdma[] = "/sys/class/infiniband/";
constexpr char kUverbs[] = "/sys/class/infiniband_verbs/";

void ReadEnvironment(MachineFacts& facts) {
  const absl::StatusOr<std::string> text = facts.files.Read(facts.process + "/environ");
  if (!text.ok()) return;
  facts.environment_known = true;
  for (const absl::string_view entry : absl::StrSplit(*text, '\0', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    facts.environment.insert(parts);
  }
}

void ReadDmi(MachineFacts& facts) {
  const SystemFiles& files = facts.files;
  facts.on_ec2 = absl::StartsWith(files.FirstLine(absl::StrCat(kDmi, "sys_vendor")), "Amazon EC2");
  if (!facts.on_ec2) return;
  facts.instance_type = files.FirstLine(absl::StrCat(kDmi, "product_name"));
  const std::string tag = files.FirstLine(absl::StrCat(kDmi, "board_asset_tag"));
  if (absl::StartsWith(tag, "i-")) facts.instance_id = tag;
  const auto profile = sim::FindProfile(facts.instance_type);
  if (profile.ok()) facts.profile = *profile;
}

std::string LinkTarget(const SystemFiles& files, const std::string& path) {
  const absl::StatusOr<std::string> target = files.Resolve(path);
  return target.ok() ? BaseName(*target) : "";
}

// By PCI function, its name in a class of sysfs.
using NamesByFunction = std::map<std::string, std::string>;
NamesByFunction NamesInClass(const SystemFiles& files, const char* folder) {
  NamesByFunction names;
  for (const std::string& name : files.List(folder)) {
    names.emplace(LinkTarget(files, absl::StrCat(folder, name, "/device")), name);
  }
  return names;
}

std::string NameOf(const NamesByFunction& names, const std::string& function) {
  const auto found = names.find(function);
  return found == names.end() ? "" : found->second;
}

Nic ReadNic(const SystemFiles& files, const std::string& address) {
  const std::string folder = kPci + address;
  Nic nic;
  nic.pci_address = Printable(address);
  nic.device_id = files.FirstLine(folder + "/device");
  nic.driver = LinkTarget(files, folder + "/driver");
  nic.numa_node = files.Number(folder + "/numa_node").value_or(-1);
  for (const char* name : {"/p2p", "/gdr"}) {  // the second is the older drivers' name
    if (nic.peer_memory.empty()) nic.peer_memory = files.FirstLine(folder + name);
  }
  if (files.Exists(folder + "/msi_irqs")) {
    nic.interrupts = static_cast<std::int64_t>(files.List(folder + "/msi_irqs").size());
  }
  return nic;
}

// amzn-drivers kernel/linux/efa/src/efa_main.c has the numbers of the functions.
bool IsEfa(const std::string& vendor, const std::string& device) {
  return vendor == "0x1d0f" && absl::StartsWith(device, "0xefa");
}

void ReadRdmaNames(MachineFacts& facts) {
  const NamesByFunction devices = NamesInClass(facts.files, kRdma);
  const NamesByFunction uverbs = NamesInClass(facts.files, kUverbs);
  for (Nic& nic : facts.nics) {
    nic.rdma_name = NameOf(devices, nic.pci_address);
    nic.uverbs = NameOf(uverbs, nic.pci_address);
    nic.is_given =
        !nic.uverbs.empty() && facts.files.Exists(absl::StrCat("/dev/infiniband/", nic.uverbs));
    if (nic.rdma_name.empty()) continue;
    nic.port_state = facts.files.FirstLine(absl::StrCat(kRdma, nic.rdma_name, "/ports/1/state"));
  }
}

void ReadPci(MachineFacts& facts) {
  const SystemFiles& files = facts.files;
  for (const std::string& address : files.List(kPci)) {
    const std::string vendor = files.FirstLine(absl::StrCat(kPci, address, "/vendor"));
    const std::string device = files.FirstLine(absl::StrCat(kPci, address, "/device"));
    const std::string type = files.FirstLine(absl::StrCat(kPci, address, "/class"));
    const bool nvidia = vendor == "0x10de";
    if (IsEfa(vendor, device)) facts.nics.push_back(ReadNic(files, address));
    if (absl::StartsWith(type, "0x0302") || (nvidia && absl::StartsWith(type, "0x0300"))) {
      facts.gpus.push_back({Printable(address), nvidia});
    }
  }
}

std::string ContainerOf(const MachineFacts& facts) {
  const SystemFiles& files = facts.files;
  if (!facts.Variable("KUBERNETES_SERVICE_HOST").empty()) return "kubernetes";
  const absl::StatusOr<std::string> groups = files.Read("/proc/1/cgroup");
  if (groups.ok()) {
    for (const auto& [mark, name] :
         {std::pair("kubepods", "kubernetes"), std::pair("docker", "docker"),
          std::pair("containerd", "containerd"), std::pair("libpod", "podman")}) {
      if (absl::StrContains(*groups, mark)) return name;
    }
  }
  if (files.Exists("/.dockerenv")) return "docker";
  if (files.Exists("/run/.containerenv")) return "podman";
  return Printable(facts.Variable("container"));  // systemd's, LXC's and Podman's word
}

}  // namespace

std::string MachineFacts::Variable(const std::string& name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::vector<Nic> MachineFacts::GivenNics() const {
  std::vector<Nic> given;
  std::copy_if(nics.begin(), nics.end(), std::back_inserter(given),
               [](const Nic& nic) { return nic.is_given; });
  return given.empty() ? nics : given;
}

bool MachineFacts::has_nvidia_gpu() const {
  return std::any_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.nvidia; });
}

std::string FieldOf(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, name) && absl::ConsumePrefix(&line, ":")) {
      return Printable(absl::StripAsciiWhitespace(line));
    }
  }
  return "";
}

MachineFacts LookAround(const SystemFiles& files, std::uint64_t process) {
  MachineFacts facts(files);
  if (process != 0) facts.process = absl::StrCat("/proc/", process);
  ReadEnvironment(facts);
  ReadDmi(facts);
  facts.kernel = ParseVersion(files.FirstLine("/proc/sys/kernel/osrelease"));
  facts.container = ContainerOf(facts);
  ReadPci(facts);
  ReadRdmaNames(facts);
  const std::string library_path = facts.Variable("LD_LIBRARY_PATH");
  facts.libfabric = FindLibrary(files, library_path, "libfabric.so.1");
  facts.libibverbs = FindLibrary(files, library_path, "libibverbs.so.1");
  facts.libefa = FindLibrary(files, library_path, "libefa.so.1");
  return facts;
}

}  // namespace drydock::apps::doctor
