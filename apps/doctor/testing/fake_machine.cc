#include "drydock/apps/doctor/testing/fake_machine.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/doctor/system_files.h"
#include "drydock/sim/profile/profile.h"
#include "gtest/gtest.h"

namespace drydock::apps::doctor {
namespace {

namespace fs = std::filesystem;

constexpr char kLibraries[] = "/usr/lib/x86_64-linux-gnu";

// A healthy machine has its devices somewhere: those of an unknown switch, below the same one.
std::string PathOf(const sim::Profile& profile, int pcie_switch, const std::string& address) {
  return absl::StrCat(
      "/sys/devices/pci0000:00/",
      pcie_switch < 0 ? "0000:00:1f.0" : profile.pcie_switches[pcie_switch].upstream_port, "/",
      address);
}

void AddNics(const FakeMachine& machine, const sim::Profile& profile) {
  int number = 0;
  for (const sim::NicProfile& nic : profile.nics) {
    const std::string device = PathOf(profile, nic.pcie_switch, nic.pci_address);
    const std::string uverbs = absl::StrCat("uverbs", number++);
    machine.Write(device + "/vendor", "0x1d0f\n");
    machine.Write(device + "/device", "0x" + profile.vendor_device_id.substr(5) + "\n");
    machine.Write(device + "/class", "0x020000\n");
    machine.Write(device + "/numa_node", absl::StrCat(std::max(nic.numa_node, 0), "\n"));
    machine.Write(device + "/p2p", "NVIDIA peermem\n");
    machine.Write(device + "/msi_irqs/40", "msix\n");
    machine.Write(device + "/msi_irqs/41", "msix\n");
    machine.Link(device + "/driver", "/sys/bus/pci/drivers/efa");
    machine.Write(absl::StrCat(device, "/infiniband/", nic.name, "/ports/1/state"), "4: ACTIVE\n");
    machine.Write(absl::StrCat(device, "/infiniband/", nic.name, "/ports/1/hw_counters/rx_drops"),
                  "0\n");
    machine.Link(absl::StrCat(device, "/infiniband/", nic.name, "/device"), "../..");
    machine.Link(absl::StrCat(device, "/infiniband_verbs/", uverbs, "/device"), "../..");
    machine.Link("/sys/bus/pci/devices/" + nic.pci_address, device);
    machine.Link("/sys/class/infiniband/" + nic.name,
                 absl::StrCat(device, "/infiniband/", nic.name));
    machine.Link("/sys/class/infiniband_verbs/" + uverbs,
                 absl::StrCat(device, "/infiniband_verbs/", uverbs));
    machine.Write("/dev/infiniband/" + uverbs, "");
  }
  machine.Folder("/sys/bus/pci/drivers/efa");
}

void AddGpus(const FakeMachine& machine, const sim::Profile& profile) {
  for (const sim::GpuProfile& gpu : profile.gpus) {
    const std::string device = PathOf(profile, gpu.pcie_switch, gpu.pci_address);
    machine.Write(device + "/vendor", "0x10de\n");
    machine.Write(device + "/device", "0x2330\n");
    machine.Write(device + "/class", "0x030200\n");
    machine.Link("/sys/bus/pci/devices/" + gpu.pci_address, device);
  }
  if (profile.gpus.empty()) return;
  machine.Write(
      "/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n"
      "GCC version:  gcc version 12\n");
  machine.Write("/proc/driver/nvidia/params", "RegistryDwords: \"PeerMappingOverride=1;\"\n");
  machine.Write("/dev/gdrdrv", "");
}

void AddSystem(const FakeMachine& machine, const sim::Profile& profile) {
  const std::string type = profile.aliases.empty() ? "c5n.18xlarge" : profile.aliases.front();
  machine.Write("/sys/devices/virtual/dmi/id/sys_vendor", "Amazon EC2\n");
  machine.Write("/sys/devices/virtual/dmi/id/product_name", type + "\n");
  machine.Write("/sys/devices/virtual/dmi/id/board_asset_tag", "i-0123456789abcdef0\n");
  machine.Write("/sys/module/efa/version", "2.17.3\n");
  machine.Folder("/sys/module/ib_uverbs");
  for (std::size_t node = 0; node < profile.numa_cpus.size(); ++node) {
    machine.Write(absl::StrCat("/sys/devices/system/node/node", node, "/cpulist"),
                  profile.numa_cpus[node] + "\n");
  }
  machine.Write("/proc/sys/kernel/osrelease", "6.8.0-1021-aws\n");
  machine.Write("/proc/sys/kernel/yama/ptrace_scope", "0\n");
  machine.Write(
      "/proc/meminfo",
      "MemTotal:       2097152000 kB\nHugePages_Total:    5128\nHugePages_Free:     5000\n"
      "Hugepagesize:       2048 kB\n");
  machine.Write("/proc/1/cgroup", "0::/init.scope\n");
  machine.Write("/proc/self/environ", std::string("HOME=/root\0LANG=C\0", 18));
  machine.Write("/proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units     \n"
                "Max locked memory         unlimited            unlimited            bytes     \n");
  machine.Write("/proc/self/status",
                "Name:\tdoctor\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-1023\n");
  machine.Write("/proc/self/maps", "7f00-7f01 r-xp 00000000 00:00 1 /usr/lib/libc.so.6\n");
  machine.Write("/proc/self/mounts", "tmpfs /dev/shm tmpfs rw,size=67108864k 0 0\n");
}

// Tables of an ELF file, one after the other, and the strings that they share.
class ElfWriter {
 public:
  ElfWriter() { bytes_.resize(64); }
  std::string Write(const FakeLibrary& library);

 private:
  struct Section {
    std::uint32_t type;
    std::size_t offset, size;
    std::uint32_t info;
  };

  std::uint32_t String(const std::string& text) {
    strings_ += text;
    strings_ += '\0';
    return static_cast<std::uint32_t>(strings_.size() - text.size() - 1);
  }
  // Little-endian, as the file says.
  template <int kBytes>
  void Put(std::uint64_t value) {
    for (int i = 0; i < kBytes; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void Begin(std::uint32_t type, std::size_t info) {
    sections_.push_back({type, bytes_.size(), 0, static_cast<std::uint32_t>(info)});
  }
  void End() { sections_.back().size = bytes_.size() - sections_.back().offset; }
  void Header(std::size_t sections_at);

  std::string bytes_;
  std::string strings_ = std::string(1, '\0');
  std::vector<Section> sections_;
};

std::string ElfWriter::Write(const FakeLibrary& library) {
  Begin(6, 0);  // SHT_DYNAMIC
  for (const std::string& need : library.needs) Put<8>(1), Put<8>(String(need));
  Put<8>(14), Put<8>(String(library.name));
  Put<8>(0), Put<8>(0);
  End();
  Begin(11, 1);  // SHT_DYNSYM: name, info, other, section, value, size
  for (const std::string& symbol : library.symbols) {
    Put<4>(String(symbol)), Put<1>(0x12), Put<1>(0), Put<2>(1), Put<8>(0), Put<8>(0);
  }
  End();
  Begin(0x6ffffffd, library.versions.size() + 1);  // SHT_GNU_verdef; the first is the file itself
  std::vector<std::string> versions = library.versions;
  versions.insert(versions.begin(), library.name);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    Put<2>(1), Put<2>(i == 0 ? 1 : 0), Put<2>(i + 1), Put<2>(1), Put<4>(0), Put<4>(20);
    Put<4>(i + 1 == versions.size() ? 0 : 28), Put<4>(String(versions[i])), Put<4>(0);
  }
  End();
  Begin(0x6ffffffe, library.version_needs.size());  // SHT_GNU_verneed
  for (std::size_t i = 0; i < library.version_needs.size(); ++i) {
    Put<2>(1), Put<2>(1), Put<4>(String(library.version_needs[i].first)), Put<4>(16);
    Put<4>(i + 1 == library.version_needs.size() ? 0 : 32);
    Put<4>(0), Put<2>(0), Put<2>(2), Put<4>(String(library.version_needs[i].second)), Put<4>(0);
  }
  End();
  Begin(3, 0);  // SHT_STRTAB
  bytes_ += strings_;
  End();
  const std::size_t sections_at = bytes_.size();
  for (const Section& section : sections_) {
    Put<4>(0), Put<4>(section.type), Put<8>(0), Put<8>(0), Put<8>(section.offset);
    Put<8>(section.size), Put<4>(sections_.size() - 1), Put<4>(section.info), Put<8>(1), Put<8>(0);
  }
  Header(sections_at);
  return bytes_;
}

void ElfWriter::Header(std::size_t sections_at) {
  const std::string body = bytes_.substr(64);
  bytes_ = std::string("\177ELF\2\1\1", 7) + std::string(9, '\0');
  Put<2>(3), Put<2>(62), Put<4>(1), Put<8>(0), Put<8>(0), Put<8>(sections_at), Put<4>(0);
  Put<2>(64), Put<2>(56), Put<2>(0), Put<2>(64), Put<2>(sections_.size());
  Put<2>(sections_.size() - 1);
  bytes_ += body;
}

}  // namespace

std::string FakeElf(const FakeLibrary& library) { return ElfWriter().Write(library); }

FakeMachine::FakeMachine() {
  std::string name = absl::StrCat(::testing::TempDir(), "/machine-XXXXXX");
  root_ = mkdtemp(name.data());
}

FakeMachine FakeMachine::Healthy(absl::string_view profile_name) {
  const sim::Profile& profile = **sim::FindProfile(profile_name);
  FakeMachine machine;
  AddSystem(machine, profile);
  AddNics(machine, profile);
  AddGpus(machine, profile);
  machine.Write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  machine.Write("/etc/ld.so.conf.d/000_efa.conf", "/opt/amazon/efa/lib\n");
  machine.Write("/etc/ld.so.conf.d/x86_64-linux-gnu.conf",
                absl::StrCat("# Multiarch support\n", kLibraries, "\n"));
  machine.InstallRdmaCore("60", {"EFA_1.0", "EFA_1.1", "EFA_1.2", "EFA_1.3", "EFA_1.4"},
                          {"efadv_query_device", "efadv_query_qp_wqs"});
  machine.InstallLibfabric("/opt/amazon/efa/lib", "2.4.0", "EFA_1.4");
  machine.Write(absl::StrCat(kLibraries, "/libhwloc.so.15"), FakeElf({"libhwloc.so.15"}));
  return machine;
}

// Links of the tree may be absolute: their folders are looked up inside it.
std::string FakeMachine::OnHost(absl::string_view path) const {
  const std::string folder(path.substr(0, path.rfind('/')));
  const auto resolved = SystemFiles(root_).Resolve(folder);
  return absl::StrCat(root_, resolved.value_or(folder), "/", BaseName(path));
}

void FakeMachine::Write(absl::string_view path, absl::string_view text) const {
  fs::create_directories(fs::path(OnHost(path)).parent_path());
  std::ofstream file(OnHost(path), std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  EXPECT_TRUE(file.good()) << path;
}

void FakeMachine::Link(absl::string_view path, absl::string_view target) const {
  fs::create_directories(fs::path(OnHost(path)).parent_path());
  fs::create_symlink(std::string(target), OnHost(path));
}

void FakeMachine::Folder(absl::string_view path) const { fs::create_directories(OnHost(path)); }

void FakeMachine::Remove(absl::string_view path) const {
  EXPECT_GT(fs::remove_all(OnHost(path)), 0u) << path << " was not there";
}

std::string FakeMachine::Content(absl::string_view path) const {
  std::ifstream file(OnHost(path), std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void FakeMachine::Edit(absl::string_view path, absl::string_view from, absl::string_view to) const {
  std::string text = Content(path);
  const std::size_t at = text.find(std::string(from));
  ASSERT_NE(at, std::string::npos) << path << " has no " << from;
  Write(path, text.replace(at, from.size(), std::string(to)));
}

void FakeMachine::InstallRdmaCore(const std::string& release,
                                  const std::vector<std::string>& efa_versions,
                                  const std::vector<std::string>& efa_symbols) const {
  const std::string efa = absl::StrCat("libefa.so.1.0.", release, ".0");
  const std::string verbs = absl::StrCat("libibverbs.so.1.0.", release, ".0");
  Write(absl::StrCat(kLibraries, "/", efa),
        FakeElf({"libefa.so.1", {"libibverbs.so.1"}, efa_versions, {}, efa_symbols}));
  Write(absl::StrCat(kLibraries, "/", verbs),
        FakeElf({"libibverbs.so.1",
                 {},
                 {"IBVERBS_1.0", "IBVERBS_1.1", "IBVERBS_1.12"},
                 {},
                 {"ibv_reg_mr", "ibv_reg_dmabuf_mr"}}));
  for (const auto& [link, file] :
       {std::pair<std::string, std::string>("libefa.so.1", efa), {"libibverbs.so.1", verbs}}) {
    fs::remove(OnHost(absl::StrCat(kLibraries, "/", link)));
    Link(absl::StrCat(kLibraries, "/", link), file);
  }
}

void FakeMachine::InstallLibfabric(const std::string& folder, const std::string& release,
                                   const std::string& efa_version) const {
  Write(folder + "/libfabric.so.1.99.0",
        FakeElf({"libfabric.so.1",
                 {"libefa.so.1", "libibverbs.so.1", "libc.so.6"},
                 {"FABRIC_1.0", "FABRIC_1.1"},
                 {{"libefa.so.1", efa_version}, {"libibverbs.so.1", "IBVERBS_1.1"}},
                 {"fi_getinfo", "fi_version"}}));
  fs::remove(OnHost(folder + "/libfabric.so.1"));
  Link(folder + "/libfabric.so.1", "libfabric.so.1.99.0");
  Write(folder + "/pkgconfig/libfabric.pc",
        absl::StrCat("Name: libfabric\nVersion: ", release, "\n"));
}

std::vector<std::string> FakeMachine::Files() const {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_)) {
    if (entry.is_directory() && !entry.is_symlink()) continue;
    files.push_back(entry.path().string().substr(root_.size()));
  }
  EXPECT_GT(files.size(), 20u);
  return files;
}

}  // namespace drydock::apps::doctor
