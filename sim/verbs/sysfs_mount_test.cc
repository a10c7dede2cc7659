#include "drydock/sim/verbs/sysfs_mount.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/sysfs_tree.h"
#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  EXPECT_TRUE(std::getline(stream, line)) << file;
  return line;
}

void Write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text << "\n";
}

void Link(const fs::path& link, const std::string& target) {
  fs::create_directories(link.parent_path());
  fs::create_symlink(target, link);
}

std::set<std::string> NamesIn(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

std::size_t MountCount() {
  std::ifstream file("/proc/self/mountinfo");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

// Root is as everybody without it.
void DropRightToMount() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct rights[2] = {};
  ASSERT_EQ(syscall(SYS_capget, &header, rights), 0);
  rights[0].effective &= ~(1u << CAP_SYS_ADMIN);
  rights[0].permitted &= ~(1u << CAP_SYS_ADMIN);
  ASSERT_EQ(syscall(SYS_capset, &header, rights), 0);
}

// A machine's /sys with a NIC and two real RDMA devices, and the tree of a simulated machine.
class SysfsMountTest : public testing::Test {
 protected:
  SysfsMountTest() {
    std::string folder = (fs::temp_directory_path() / "drydock-mount-XXXXXX").string();
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    const std::string nic = "devices/pci0000:00/0000:00:06.0";
    Write(sysfs() / nic / "vendor", "0x1af4");
    Write(sysfs() / nic / "net/eth0/address", "02:00");
    Link(sysfs() / "class/net/eth0", "../../" + nic + "/net/eth0");
    Link(sysfs() / "bus/pci/devices/0000:00:06.0", "../../../" + nic);
    Write(sysfs() / "devices/pci0000:00/pci_bus/0000:00/cpuaffinity", "3");
    Link(sysfs() / "class/pci_bus/0000:00", "../../devices/pci0000:00/pci_bus/0000:00");
    Write(sysfs() / "class/infiniband/mlx5_0/node_guid", "a real one");
    Write(sysfs() / "class/infiniband_verbs/uverbs77/ibdev", "mlx5_0");
    Write(sysfs() / "bus/pci/drivers/virtio/bind", "");
    Write(sysfs() / "bus/pci/rescan", "0");
    Write(sysfs() / "devices/virtual/dmi/id/product_name", "a laptop");
    Write(sysfs() / "devices/virtual/dmi/id/sys_vendor", "a shop");
    Write(sysfs() / "devices/virtual/dmi/id/board_asset_tag", "none");
    Write(sysfs() / "devices/virtual/dmi/id/bios_date", "today");
    Write(sysfs() / "kernel/mm/pages", "7");
    fs::create_directories(sysfs() / "class/tty");
    const absl::StatusOr<const Profile*> found = FindProfile("p5");
    EXPECT_TRUE(found.ok()) << found.status();
    profile_ = **found;
    profile_.nics.resize(3);
    fs::create_directory(tree());
    EXPECT_TRUE(WriteSysfsTree(profile_, tree()).ok());
    Write(tree() / "machine.xml", "<topology/>");
  }
  ~SysfsMountTest() override { fs::remove_all(folder_); }

  fs::path sysfs() const { return folder_ / "sys"; }
  fs::path tree() const { return folder_ / "tree"; }

  // Does it in a process with mounts of its own, or skips where nobody may have them. `meanwhile`
  // is done by this process while they are there.
  static void WithOwnMounts(
      const std::function<void()>& body, const std::function<void()>& meanwhile = [] {}) {
    constexpr int kRefused = 77;
    int done[2];
    int looked[2];
    ASSERT_EQ(pipe(done), 0);
    ASSERT_EQ(pipe(looked), 0);
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(looked[1]);
      const absl::Status taken = TakeMountNamespace();
      if (!taken.ok()) {
        std::printf("%s\n", std::string(taken.message()).c_str());
        std::fflush(nullptr);
        _exit(kRefused);
      }
      body();
      std::fflush(nullptr);
      char byte = 0;
      static_cast<void>(write(done[1], "", 1) == 1 && read(looked[0], &byte, 1) == 1);
      _exit(HasFailure() ? 1 : 0);
    }
    close(done[1]);
    char byte = 0;
    if (read(done[0], &byte, 1) == 1) meanwhile();
    close(looked[1]);
    close(looked[0]);
    close(done[0]);
    int how = 0;
    ASSERT_EQ(waitpid(child, &how, 0), child);
    if (WIFEXITED(how) && WEXITSTATUS(how) == kRefused) {
      GTEST_SKIP() << "no mount namespace can be had here";
    }
    EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << how;
  }
  void Lay() const {
    const absl::Status laid = LayOverSysfs(tree(), sysfs());
    ASSERT_TRUE(laid.ok()) << laid;
  }
  // Root in a mount namespace of its own becomes one to whom the folder belongs, if it may.
  void BecomeAnother() {
    constexpr id_t kAnother = 12345;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_)) {
      if (lchown(entry.path().c_str(), kAnother, kAnother) != 0) return;
    }
    ASSERT_EQ(chown(folder_.c_str(), kAnother, kAnother), 0) << errno;
    // The folders above may be root's alone.
    ASSERT_EQ(mount(folder_.c_str(), "/tmp", nullptr, MS_BIND, nullptr), 0) << errno;
    folder_ = "/tmp";
    ASSERT_EQ(setresgid(kAnother, kAnother, kAnother), 0) << errno;
    ASSERT_EQ(setresuid(kAnother, kAnother, kAnother), 0) << errno;
    ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1), 0) << errno;  // as after exec: its files in /proc are its
  }
  void ExpectOurs() const { ExpectOurs(sysfs()); }
  // Paths and contents as aws-ofi-nccl and NIXL take them.
  void ExpectOurs(const fs::path& root) const {
    EXPECT_EQ(FirstLine(root / "devices/virtual/dmi/id/product_name"), "p5.48xlarge");
    EXPECT_EQ(FirstLine(root / "class/dmi/id/product_name"), "p5.48xlarge");
    EXPECT_EQ(FirstLine(root / "devices/virtual/dmi/id/board_asset_tag").substr(0, 2), "i-");
    std::set<std::string> names;
    for (const NicProfile& nic : profile_.nics) {
      names.insert(nic.name);
      const fs::path device = root / "bus/pci/devices" / nic.pci_address;
      EXPECT_EQ(FirstLine(device / "max_link_width"), "16");
      const std::string bus = nic.pci_address.substr(0, 7);
      EXPECT_EQ(fs::canonical(root / "class/pci_bus" / bus / "../.." / nic.pci_address),
                fs::canonical(device));
      EXPECT_EQ(fs::canonical(root / "class/infiniband" / nic.name / "device"),
                fs::canonical(device));
      EXPECT_EQ(fs::canonical(device / "driver").filename(), "efa");
    }
    EXPECT_EQ(NamesIn(root / "class/infiniband"), names);
    EXPECT_FALSE(fs::exists(root / "machine.xml"));
  }

  fs::path folder_;
  Profile profile_;
};

TEST_F(SysfsMountTest, ShowsWhatPluginsRead) {
  WithOwnMounts([&] {
    Lay();
    ExpectOurs();
  });
}

TEST_F(SysfsMountTest, TheRestOfTheMachineStays) {
  WithOwnMounts([&] {
    Lay();
    EXPECT_EQ(FirstLine(sysfs() / "class/net/eth0/address"), "02:00");
    EXPECT_EQ(fs::canonical(sysfs() / "bus/pci/devices/0000:00:06.0"),
              fs::canonical(sysfs()) / "devices/pci0000:00/0000:00:06.0");
    EXPECT_EQ(FirstLine(sysfs() / "class/pci_bus/0000:00/../../0000:00:06.0/vendor"), "0x1af4");
    EXPECT_TRUE(fs::exists(sysfs() / "bus/pci/drivers/virtio/bind"));
    EXPECT_EQ(FirstLine(sysfs() / "bus/pci/rescan"), "0");
    EXPECT_EQ(FirstLine(sysfs() / "devices/virtual/dmi/id/bios_date"), "today");
    EXPECT_EQ(FirstLine(sysfs() / "kernel/mm/pages"), "7");
    EXPECT_TRUE(fs::is_directory(sysfs() / "class/tty"));
  });
}

// A machine with real NICs becomes one that has only simulated ones.
TEST_F(SysfsMountTest, RealRdmaDevicesAreNotSeen) {
  WithOwnMounts([&] {
    Lay();
    EXPECT_FALSE(fs::exists(sysfs() / "class/infiniband/mlx5_0"));
    EXPECT_FALSE(fs::exists(sysfs() / "class/infiniband_verbs/uverbs77"));
  });
}

// Another device of the bus stays, and so does what the machine has beside the tree's.
TEST_F(SysfsMountTest, ARealFunctionAtTheAddressOfANicIsNotSeen) {
  const std::string address = profile_.nics[0].pci_address;
  const std::string bridge = "devices/pci" + address.substr(0, 7);
  Write(sysfs() / bridge / address / "vendor", "0x144d");
  Write(sysfs() / bridge / address / "nvme/nvme0/model", "a disk");
  Link(sysfs() / "bus/pci/devices" / address, "../../../" + bridge + "/" + address);
  Link(sysfs() / "class/nvme/nvme0", "../../" + bridge + "/" + address + "/nvme/nvme0");
  Write(sysfs() / bridge / "0000:4f:1f.0/vendor", "0x10de");
  Write(sysfs() / bridge / "pci_bus/0000:4f/rescan", "0");
  WithOwnMounts([&] {
    Lay();
    ExpectOurs();
    EXPECT_EQ(FirstLine(sysfs() / "bus/pci/devices" / address / "vendor"), "0x1d0f");
    EXPECT_FALSE(fs::exists(sysfs() / "bus/pci/devices" / address / "nvme"));
    EXPECT_FALSE(fs::exists(sysfs() / "class/nvme/nvme0"));
    EXPECT_EQ(FirstLine(sysfs() / "class/pci_bus/0000:4f/../../0000:4f:1f.0/vendor"), "0x10de");
    EXPECT_EQ(FirstLine(sysfs() / "class/pci_bus/0000:4f/rescan"), "0");
  });
}

TEST_F(SysfsMountTest, ARealFunctionBehindABridgeStaysThereOnly) {
  const std::string address = profile_.nics[0].pci_address;
  const std::string device = "devices/pci0000:00/0000:00:1c.0/" + address;
  Write(sysfs() / device / "vendor", "0x144d");
  Write(sysfs() / device / "nvme/nvme0/model", "a disk");
  Link(sysfs() / "class/nvme/nvme0", "../../" + device + "/nvme/nvme0");
  Link(sysfs() / "bus/pci/devices" / address, "../../../" + device);
  WithOwnMounts([&] {
    Lay();
    ExpectOurs();
    EXPECT_EQ(FirstLine(sysfs() / "bus/pci/devices" / address / "vendor"), "0x1d0f");
    EXPECT_EQ(FirstLine(sysfs() / device / "vendor"), "0x144d");
    EXPECT_EQ(FirstLine(sysfs() / "class/nvme/nvme0/model"), "a disk");
  });
}

// As in a virtual machine or a container.
TEST_F(SysfsMountTest, WhatTheMachineLacksIsThere) {
  for (const char* name : {"class/infiniband", "class/infiniband_verbs", "devices/virtual/dmi",
                           "class/pci_bus", "bus"}) {
    fs::remove_all(sysfs() / name);
    WithOwnMounts([&] {
      Lay();
      ExpectOurs();
    });
  }
  EXPECT_FALSE(fs::exists(sysfs() / "devices/virtual/dmi"));
  fs::remove_all(sysfs());
  fs::create_directory(sysfs());
  WithOwnMounts([&] {
    Lay();
    ExpectOurs();
  });
  EXPECT_TRUE(fs::is_empty(sysfs()));
}

TEST_F(SysfsMountTest, MountsBelowStay) {
  WithOwnMounts([&] {
    for (const char* name : {"class/tty", "kernel/mm", "devices/virtual/dmi"}) {
      ASSERT_EQ(mount("test", (sysfs() / name).c_str(), "tmpfs", 0, nullptr), 0) << errno;
      Write(sysfs() / name / "mark", "mounted");
    }
    Lay();
    for (const char* name : {"class/tty", "kernel/mm", "devices/virtual/dmi"}) {
      EXPECT_EQ(FirstLine(sysfs() / name / "mark"), "mounted");
    }
    Write(sysfs() / "kernel/mm/mark", "still to be written");
    EXPECT_EQ(FirstLine(sysfs() / "kernel/mm/mark"), "still to be written");
    ExpectOurs();
  });
}

TEST_F(SysfsMountTest, NobodyCanChangeWhatIsOurs) {
  WithOwnMounts([&] {
    Lay();
    const std::string nic = "class/infiniband/" + profile_.nics[0].name;
    for (const std::string& name :
         {nic + "/node_guid", std::string("devices/virtual/dmi/id/product_name")}) {
      EXPECT_EQ(open((sysfs() / name).c_str(), O_WRONLY | O_CLOEXEC), -1) << name;
      EXPECT_EQ(errno, EROFS) << name;
    }
    EXPECT_EQ(mkdir((sysfs() / "class/infiniband/new").c_str(), 0755), -1);
    EXPECT_EQ(errno, EROFS);
  });
}

TEST_F(SysfsMountTest, EveryUserCanReadWhateverTheMaskIs) {
  const mode_t before = umask(077);
  WithOwnMounts([&] {
    Lay();
    struct stat status {};
    const fs::path nic = sysfs() / "class/infiniband" / profile_.nics[0].name;
    ASSERT_EQ(stat((nic / "node_guid").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0444u);
    ASSERT_EQ(stat(nic.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0755u);
    EXPECT_EQ(umask(0), 077u);
  });
  umask(before);
}

// What is mounted in a shared mount is seen in all namespaces that have it, but not if it is mounted
// in a slave.
TEST_F(SysfsMountTest, NobodyElseSeesIt) {
  WithOwnMounts([&] {
    ASSERT_EQ(mount(folder_.c_str(), folder_.c_str(), nullptr, MS_BIND, nullptr), 0) << errno;
    ASSERT_EQ(mount(nullptr, folder_.c_str(), nullptr, MS_SHARED, nullptr), 0) << errno;
    const std::size_t mounts = MountCount();
    WithOwnMounts(
        [&] {
          Lay();
          EXPECT_GT(MountCount(), mounts);
        },
        [&] {
          EXPECT_EQ(MountCount(), mounts);
          EXPECT_TRUE(fs::exists(sysfs() / "class/infiniband/mlx5_0"));
          EXPECT_EQ(FirstLine(sysfs() / "devices/virtual/dmi/id/product_name"), "a laptop");
          EXPECT_EQ(FirstLine(tree() / "machine.xml"), "<topology/>");
        });
  });
  EXPECT_EQ(NamesIn(sysfs() / "class/infiniband"), std::set<std::string>{"mlx5_0"});
}

// The folder that it comes from is as before, also for a run that begins in this one.
TEST_F(SysfsMountTest, ASecondOneLiesOverTheFirst) {
  WithOwnMounts([&] {
    Lay();
    EXPECT_EQ(FirstLine(tree() / "machine.xml"), "<topology/>");
    profile_.nics.resize(1);
    fs::remove_all(tree());
    fs::create_directory(tree());
    ASSERT_TRUE(WriteSysfsTree(profile_, tree()).ok());
    const absl::Status taken = TakeMountNamespace();
    ASSERT_TRUE(taken.ok()) << taken;
    Lay();
    ExpectOurs();
    EXPECT_EQ(FirstLine(sysfs() / "class/net/eth0/address"), "02:00");
  });
}

TEST_F(SysfsMountTest, WhoMayNotMountIsWhoHeIsInAUserNamespace) {
  WithOwnMounts([&] {
    if (geteuid() == 0) BecomeAnother();
    DropRightToMount();
    const uid_t user = geteuid();
    const gid_t group = getegid();
    const absl::Status taken = TakeMountNamespace();
    if (!taken.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(taken)) << taken;
      EXPECT_NE(taken.message().find("CAP_SYS_ADMIN"), absl::string_view::npos) << taken;
      std::puts("skipped: no user namespace can be had here");
      return;
    }
    EXPECT_EQ(geteuid(), user);
    EXPECT_EQ(getegid(), group);
    struct stat status {};
    ASSERT_EQ(stat(tree().c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, user);
    Lay();
    ExpectOurs();
  });
}

TEST_F(SysfsMountTest, SaysThatItIsInAChroot) {
  WithOwnMounts([&] {
    ASSERT_EQ(chroot(folder_.c_str()), 0) << errno;
    ASSERT_EQ(chdir("/"), 0) << errno;
    const absl::Status taken = TakeMountNamespace();
    EXPECT_TRUE(absl::IsUnavailable(taken)) << taken;
    EXPECT_NE(taken.message().find("chroot"), absl::string_view::npos) << taken;
    EXPECT_EQ(taken.message().find("CAP_SYS_ADMIN"), absl::string_view::npos) << taken;
  });
}

TEST_F(SysfsMountTest, ThisMachine) {
  struct statfs before {};
  const bool has_groups = statfs("/sys/fs/cgroup", &before) == 0;
  if (!fs::exists("/sys/devices")) GTEST_SKIP() << "this machine has no /sys";
  WithOwnMounts([&] {
    const std::size_t mounts = MountCount();
    const std::set<std::string> classes = NamesIn("/sys/class");
    const absl::Status laid = LayOverSysfs(tree(), "/sys");
    ASSERT_TRUE(laid.ok()) << laid;
    ExpectOurs("/sys");
    std::set<std::string> now = NamesIn("/sys/class");
    for (const std::string& name : classes) EXPECT_TRUE(now.contains(name)) << name;
    for (const fs::directory_entry& nic : fs::directory_iterator("/sys/class/net")) {
      EXPECT_TRUE(fs::exists(nic.path())) << nic.path();
    }
    struct statfs after {};
    EXPECT_EQ(statfs("/sys/fs/cgroup", &after) == 0, has_groups);
    EXPECT_EQ(after.f_type, before.f_type);
    std::printf("%zu mounts\n", MountCount() - mounts);
  });
}

TEST_F(SysfsMountTest, NamesWhatIsNotThere) {
  WithOwnMounts([&] {
    const absl::Status nothing = LayOverSysfs(tree(), folder_ / "nothing");
    EXPECT_TRUE(absl::IsUnavailable(nothing)) << nothing;
    EXPECT_NE(nothing.message().find((folder_ / "nothing").string()), absl::string_view::npos);
  });
  WithOwnMounts([&] {
    const absl::Status nothing = LayOverSysfs(folder_ / "no_tree", sysfs());
    EXPECT_TRUE(absl::IsUnavailable(nothing)) << nothing;
    EXPECT_NE(nothing.message().find((folder_ / "no_tree").string()), absl::string_view::npos);
  });
}

}  // namespace
}  // namespace drydock::sim::verbs
