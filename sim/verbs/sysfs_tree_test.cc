#include "drydock/sim/verbs/sysfs_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/profile/profile.h"
#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

namespace fs = std::filesystem;

Profile ProfileOf(const std::string& name, std::size_t nics = 0) {
  const absl::StatusOr<const Profile*> found = FindProfile(name);
  EXPECT_TRUE(found.ok()) << found.status();
  Profile profile = **found;
  if (nics != 0) profile.nics.resize(nics);
  return profile;
}

std::string FirstLine(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  EXPECT_TRUE(std::getline(stream, line)) << file;
  return line;
}

// Each test has an empty folder of its own.
class SysfsTreeTest : public ::testing::Test {
 protected:
  SysfsTreeTest()
      : parent_(fs::path(::testing::TempDir()) /
                (std::string("tree-") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(parent_);
    fs::create_directories(parent_);
  }
  ~SysfsTreeTest() override { fs::remove_all(parent_); }

  fs::path folder() const { return parent_ / ("drydock-efa-" + std::to_string(geteuid())); }
  absl::StatusOr<std::string> Tree(const Profile& profile) const {
    return SysfsTreeFor(profile, parent_.string(), "<topology/>");
  }
  std::set<std::string> NamesInFolder() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder())) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  const fs::path parent_;
};

TEST_F(SysfsTreeTest, WhatLibfabricReads) {
  for (const char* name : {"small", "p5", "p4d"}) {
    const Profile profile = ProfileOf(name);
    const fs::path root = parent_ / name;
    fs::create_directory(root);
    const absl::Status written = WriteSysfsTree(profile, root.string());
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_EQ(FirstLine(root / "class/infiniband_verbs/abi_version"), "6");
    for (const NicProfile& nic : profile.nics) {
      // libfabric follows the link to a folder that has the PCI address as its name, and from there
      // to the name of the driver (prov/util: ofi_get_pci...).
      const fs::path device = root / "class/infiniband" / nic.name / "device";
      EXPECT_EQ(fs::canonical(device), fs::canonical(root) / "devices" /
                                           ("pci" + nic.pci_address.substr(0, 7)) /
                                           nic.pci_address);
      EXPECT_EQ(fs::canonical(device / "driver").filename(), "efa");
      EXPECT_TRUE(fs::is_symlink(device / "driver"));
      EXPECT_EQ(FirstLine(device / "vendor"), "0x1d0f");
      EXPECT_EQ("0x1d0f:" + FirstLine(device / "device").substr(2),
                "0x" + profile.vendor_device_id);
      EXPECT_EQ(FirstLine(device / "numa_node"), std::to_string(nic.numa_node));
    }
    EXPECT_FALSE(fs::exists(root / "class/infiniband_verbs" /
                            ("uverbs" + std::to_string(profile.nics.size()))));
  }
}

// Paths and contents as aws-ofi-nccl and NIXL take them.
TEST_F(SysfsTreeTest, WhatPluginsRead) {
  const std::vector<std::pair<std::string, std::string>> speeds = {
      {"p5", "8.0 GT/s PCIe"}, {"p5en", "16.0 GT/s PCIe"}, {"p6-b200", "32.0 GT/s PCIe"}};
  for (const auto& [name, speed] : speeds) {
    const Profile profile = ProfileOf(name);
    const fs::path root = parent_ / name;
    fs::create_directory(root);
    ASSERT_TRUE(WriteSysfsTree(profile, root.string()).ok());
    EXPECT_EQ(FirstLine(root / "devices/virtual/dmi/id/product_name"), profile.aliases.front());
    EXPECT_EQ(FirstLine(root / "devices/virtual/dmi/id/board_asset_tag").substr(0, 2), "i-");
    EXPECT_EQ(FirstLine(root / "class/dmi/id/product_name"), profile.aliases.front());
    std::set<std::string> guids;
    for (const NicProfile& nic : profile.nics) {
      const fs::path device = root / "bus/pci/devices" / nic.pci_address;
      EXPECT_EQ(FirstLine(device / "max_link_speed"), speed);
      EXPECT_EQ(FirstLine(device / "max_link_width"), "16");
      const std::string bus = nic.pci_address.substr(0, 7);
      EXPECT_EQ(fs::canonical(root / "class/pci_bus" / bus / "../.." / nic.pci_address),
                fs::canonical(device));
      guids.insert(FirstLine(root / "class/infiniband" / nic.name / "node_guid"));
    }
    EXPECT_EQ(guids.size(), profile.nics.size());
    EXPECT_TRUE(guids.contains("0000:0000:0000:0001"));
  }
  const absl::StatusOr<std::string> tree = Tree(ProfileOf("p5"));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(FirstLine(fs::path(*tree) / "machine.xml"), "<topology/>");
}

// libpciaccess finds no PCI device at all where one has no configuration space; lspci ends.
TEST_F(SysfsTreeTest, WhatListsOfPciDevicesRead) {
  const Profile profile = ProfileOf("p5", 2);
  ASSERT_TRUE(WriteSysfsTree(profile, parent_.string()).ok());
  for (const NicProfile& nic : profile.nics) {
    const fs::path device = parent_ / "bus/pci/devices" / nic.pci_address;
    EXPECT_EQ(FirstLine(device / "class"), "0x020000");
    EXPECT_EQ(FirstLine(device / "irq"), "0");
    EXPECT_EQ(FirstLine(device / "subsystem_device"), FirstLine(device / "device"));
    std::ifstream resources(device / "resource");
    std::size_t lines = 0;
    for (std::string line; std::getline(resources, line); ++lines) EXPECT_EQ(line.size(), 56u);
    EXPECT_EQ(lines, 7u);
    ASSERT_EQ(fs::file_size(device / "config"), 64u);
    std::string config(64, '\0');
    std::ifstream(device / "config", std::ios::binary).read(config.data(), 64);
    const auto word = [&config](std::size_t at) {
      return static_cast<unsigned char>(config[at]) | static_cast<unsigned char>(config[at + 1])
                                                          << 8;
    };
    EXPECT_EQ(word(0x00), 0x1d0f);
    EXPECT_EQ(word(0x02), 0xefa1);
    EXPECT_EQ(word(0x04), 0x0006);  // memory, bus master
    EXPECT_EQ(word(0x0a), 0x0200);
    EXPECT_EQ(word(0x2c), 0x1d0f);
    EXPECT_EQ(word(0x2e), 0xefa1);
  }
}

TEST_F(SysfsTreeTest, TheCharacterDevicesBelongToTheNicsInTheirOrder) {
  const Profile profile = ProfileOf("p5");
  ASSERT_TRUE(WriteSysfsTree(profile, parent_.string()).ok());
  for (std::size_t i = 0; i < profile.nics.size(); ++i) {
    const fs::path verbs = parent_ / "class/infiniband_verbs" / ("uverbs" + std::to_string(i));
    EXPECT_EQ(FirstLine(verbs / "ibdev"), profile.nics[i].name);
    EXPECT_EQ(fs::canonical(verbs / "device").filename(), profile.nics[i].pci_address);
  }
}

TEST_F(SysfsTreeTest, AFolderThatIsNotThere) {
  std::ofstream(parent_ / "file") << "no folder";
  const absl::Status status = WriteSysfsTree(ProfileOf("small"), (parent_ / "file").string());
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find((parent_ / "file").string()), absl::string_view::npos) << status;
}

TEST_F(SysfsTreeTest, TheSecondRunTakesTheSameTree) {
  const absl::StatusOr<std::string> first = Tree(ProfileOf("small"));
  ASSERT_TRUE(first.ok()) << first.status();
  std::ofstream(fs::path(*first) / "mark") << "still there";
  const absl::StatusOr<std::string> second = Tree(ProfileOf("small"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(*first, *second);
  EXPECT_TRUE(fs::exists(fs::path(*first) / "mark"));
  EXPECT_EQ(NamesInFolder().size(), 1u);  // nothing half written is left
}

// Who clears up /tmp by age takes the files that nobody has read.
TEST_F(SysfsTreeTest, WhatIsMissingIsThereAgain) {
  const absl::StatusOr<std::string> first = Tree(ProfileOf("small"));
  ASSERT_TRUE(first.ok()) << first.status();
  const fs::path guid = fs::path(*first) / "class/infiniband" / ProfileOf("small").nics[0].name;
  fs::remove(fs::path(*first) / "machine.xml");
  fs::remove_all(guid);
  const absl::StatusOr<std::string> second = Tree(ProfileOf("small"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(FirstLine(fs::path(*second) / "machine.xml"), "<topology/>");
  EXPECT_TRUE(fs::exists(guid / "node_guid"));
  EXPECT_TRUE(fs::is_symlink(guid / "device"));
}

TEST_F(SysfsTreeTest, OtherMachinesHaveOtherTrees) {
  std::set<std::string> trees;
  for (const Profile& profile :
       {ProfileOf("small"), ProfileOf("small", 1), ProfileOf("p5"), ProfileOf("p5", 1)}) {
    const absl::StatusOr<std::string> tree = Tree(profile);
    ASSERT_TRUE(tree.ok()) << tree.status();
    trees.insert(*tree);
    std::size_t nics = 0;
    for ([[maybe_unused]] const fs::directory_entry& entry :
         fs::directory_iterator(fs::path(*tree) / "class/infiniband")) {
      ++nics;
    }
    EXPECT_EQ(nics, profile.nics.size());
  }
  EXPECT_EQ(trees.size(), 4u);
}

// A later version of the program, which says something else of the same machine, finds nothing old.
TEST_F(SysfsTreeTest, AnotherTextHasAnotherTree) {
  Profile profile = ProfileOf("small");
  const absl::StatusOr<std::string> first = Tree(profile);
  profile.link_gbps += 100;
  const absl::StatusOr<std::string> second = Tree(profile);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(*first, *second);
  const absl::StatusOr<std::string> third =
      SysfsTreeFor(profile, parent_.string(), "<topology numa='2'/>");
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_NE(*second, *third);
}

TEST_F(SysfsTreeTest, SeveralAtOnceAgree) {
  const Profile profile = ProfileOf("p5", 4);
  std::vector<absl::StatusOr<std::string>> trees(8);
  std::vector<std::thread> threads;
  for (absl::StatusOr<std::string>& tree : trees) {
    threads.emplace_back([&] { tree = Tree(profile); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::StatusOr<std::string>& tree : trees) {
    ASSERT_TRUE(tree.ok()) << tree.status();
    EXPECT_EQ(*tree, *trees[0]);
  }
  EXPECT_EQ(NamesInFolder(), std::set<std::string>{fs::path(*trees[0]).filename()});
}

TEST_F(SysfsTreeTest, NobodyElseGetsAtTheFolder) {
  ASSERT_TRUE(Tree(ProfileOf("small")).ok());
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
}

TEST_F(SysfsTreeTest, AFolderThatOthersCanWriteIsRefused) {
  for (const mode_t mode : {0770u, 0707u, 0777u, 0720u, 0702u}) {
    fs::remove_all(folder());
    ASSERT_EQ(mkdir(folder().c_str(), 0700), 0);
    ASSERT_EQ(chmod(folder().c_str(), mode), 0);
    const absl::Status status = Tree(ProfileOf("small")).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << mode << ": " << status;
    EXPECT_NE(status.message().find(folder().string()), absl::string_view::npos) << status;
    EXPECT_TRUE(fs::is_empty(folder()));
  }
  ASSERT_EQ(chmod(folder().c_str(), 0755), 0);  // others may look
  EXPECT_TRUE(Tree(ProfileOf("small")).ok());
}

TEST_F(SysfsTreeTest, SomebodyElsesFolderIsRefused) {
  ASSERT_EQ(mkdir(folder().c_str(), 0700), 0);
  if (chown(folder().c_str(), geteuid() + 1, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  const absl::Status status = Tree(ProfileOf("small")).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
}

TEST_F(SysfsTreeTest, WhatIsNoFolderIsRefused) {
  fs::create_directory(parent_ / "elsewhere");
  fs::create_directory_symlink(parent_ / "elsewhere", folder());
  EXPECT_TRUE(absl::IsUnavailable(Tree(ProfileOf("small")).status()));
  EXPECT_TRUE(fs::is_empty(parent_ / "elsewhere"));
  fs::remove(folder());
  std::ofstream(folder()) << "a file";
  EXPECT_TRUE(absl::IsUnavailable(Tree(ProfileOf("small")).status()));
  EXPECT_TRUE(absl::IsUnavailable(
      SysfsTreeFor(ProfileOf("small"), (parent_ / "missing").string(), "").status()));
}

}  // namespace
}  // namespace drydock::sim::verbs
