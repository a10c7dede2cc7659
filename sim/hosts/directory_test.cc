#include "drydock/sim/hosts/directory.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/hosts/gid.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/testing/unique_name.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

const NetworkTerms kTerms{.profile = "some profile", .fingerprint = 42};

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() : name_(sim_testing::UniqueName("drydock-efa-test")) {}
  ~DirectoryTest() override { EXPECT_TRUE(Files().empty()) << Files().front(); }

  std::unique_ptr<Directory> Join(bool announce = true) {
    absl::StatusOr<std::unique_ptr<Directory>> directory = Directory::Join(name_, kTerms);
    EXPECT_TRUE(directory.ok()) << directory.status();
    if (!directory.ok()) std::abort();
    if (announce) (*directory)->Announce();
    return *std::move(directory);
  }
  // This network's files in shared memory.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    DIR* folder = opendir(kSharedFolder);
    while (const dirent* entry = readdir(folder)) {
      if (absl::StartsWith(entry->d_name, name_)) files.emplace_back(entry->d_name);
    }
    closedir(folder);
    return files;
  }
  // A process that joins and dies in this way, having left a file for slot 0.
  void LetOneDie(bool by_signal) {
    const pid_t child = fork();
    if (child == 0) {
      auto directory = Join();
      absl::StatusOr<SharedFile> file = SharedFile::Make(
          directory->RingName(directory->slot(), directory->incarnation(), 0, 1), 4096);
      if (by_signal) raise(SIGKILL);
      _exit(file.ok() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(by_signal ? WIFSIGNALED(status) : WIFEXITED(status), true);
  }

  const std::string name_;
};

TEST_F(DirectoryTest, EachHasASlot) {
  const auto first = Join();
  const std::uint32_t epoch = first->epoch();
  const auto second = Join();
  EXPECT_EQ(first->slot(), 0u);
  EXPECT_EQ(second->slot(), 1u);
  EXPECT_NE(first->epoch(), epoch);
  EXPECT_EQ(first->LivingIn(1), second->incarnation());
  EXPECT_TRUE(first->IsHeld(1));
  EXPECT_TRUE(second->IsHeld(0));
  EXPECT_FALSE(first->IsHeld(2));
  EXPECT_EQ(first->LivingIn(2), 0u);
}

TEST_F(DirectoryTest, NobodyLivesInASlotThatWasNotAnnounced) {
  const auto first = Join();
  const auto second = Join(false);
  EXPECT_TRUE(first->IsHeld(1));
  EXPECT_EQ(first->LivingIn(1), 0u);
}

TEST_F(DirectoryTest, NobodyLivesInASlotWhoseLifeIsNonsense) {
  const auto first = Join();
  const auto second = Join();
  const std::uint64_t life = second->mine().life.load();
  second->mine().life.store(life | std::uint64_t{1} << 40);
  EXPECT_EQ(first->LivingIn(1), 0u);
  second->mine().life.store(life);
  EXPECT_EQ(first->LivingIn(1), second->incarnation());
}

TEST_F(DirectoryTest, ASlotThatWasLeftIsTakenByAnotherIncarnation) {
  const auto first = Join();
  auto second = Join();
  const std::uint32_t incarnation = second->incarnation();
  second->mine().readable[0].store(77);
  second.reset();
  EXPECT_EQ(first->LivingIn(1), 0u);
  EXPECT_FALSE(first->IsHeld(1));
  second = Join();
  EXPECT_EQ(second->slot(), 1u);
  EXPECT_NE(second->incarnation(), incarnation);
  EXPECT_EQ(second->mine().readable[0].load(), 0u);
}

TEST_F(DirectoryTest, WhoDiesHasLostItsSlot) {
  const auto first = Join();
  for (const bool by_signal : {false, true}) {
    LetOneDie(by_signal);
    EXPECT_EQ(Files().size(), 2u);
    const std::uint32_t incarnation = first->LivingIn(1);
    EXPECT_NE(incarnation, 0u);
    EXPECT_FALSE(first->IsHeld(1));
    const std::uint32_t epoch = first->epoch();
    first->NoteDeath(1, incarnation + 1);  // of another incarnation
    EXPECT_EQ(first->LivingIn(1), incarnation);
    first->NoteDeath(1, incarnation);
    EXPECT_EQ(first->LivingIn(1), 0u);
    EXPECT_NE(first->epoch(), epoch);
    EXPECT_EQ(Files().size(), 1u);
  }
}

TEST_F(DirectoryTest, WhoComesClearsUpAfterTheDead) {
  LetOneDie(true);
  EXPECT_EQ(Files().size(), 2u);
  const auto successor = Join();
  EXPECT_EQ(successor->slot(), 0u);
  EXPECT_EQ(successor->incarnation(), 2u);
  EXPECT_EQ(Files().size(), 1u);
}

// The networks of this test's prefix: one of the dead, with a file of theirs, one of the living.
TEST_F(DirectoryTest, NetworksOfTheDeadAreSwept) {
  const std::string prefix = name_ + "-";
  const auto join = [&](const std::string& network) {
    auto directory = Directory::Join(prefix + network, kTerms);
    if (!directory.ok()) std::abort();
    (*directory)->Announce();
    return *std::move(directory);
  };
  const auto living = join("00000000aa");
  const std::string ring = living->RingName(0, living->incarnation(), 1, 1);
  ASSERT_TRUE(SharedFile::Make(ring, 4096).ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto dies = join("00000000bb");
    const bool made = SharedFile::Make(dies->RingName(0, 1, 1, 1), 4096).ok();
    raise(made ? SIGKILL : SIGTERM);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  // Messages whose network has gone, and a file that is none of ours.
  ASSERT_TRUE(SharedFile::Make(prefix + "00000000cc-0.1-1.1", 4096).ok());
  const std::string open_to_all = std::string(kSharedFolder) + prefix + "00000000dd";
  close(open(open_to_all.c_str(), O_RDWR | O_CREAT, 0666));
  chmod(open_to_all.c_str(), 0666);
  EXPECT_EQ(Files().size(), 6u);

  RemoveDeadNetworks(prefix);
  std::vector<std::string> left = Files();
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{prefix + "00000000aa", ring, prefix + "00000000dd"}));
  unlink(open_to_all.c_str());
  SharedFile::Unlink(ring);
}

// What libfabric's provider leaves, of a killed process: it goes with the network in its name.
TEST_F(DirectoryTest, TheProvidersFilesOfTheDeadAreSwept) {
  const std::uint64_t dead = FabricNumber(name_, 1);
  const std::uint64_t living = FabricNumber(name_, 2);
  const auto machine = Directory::Join(FabricFileName(living), kTerms);
  ASSERT_TRUE(machine.ok()) << machine.status();
  (*machine)->Announce();
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  const pid_t ended = fork();  // of which the system shows no memory
  if (ended == 0) _exit(0);
  siginfo_t end{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &end, WEXITED | WNOWAIT), 0);
  const pid_t later = fork();
  if (later == 0) {
    while (true) pause();
  }

  std::vector<SharedFile> files;
  const auto make = [&](const Gid& gid, const char* rest, std::int32_t pid, char version = 8) {
    char text[INET6_ADDRSTRLEN] = {};
    inet_ntop(AF_INET6, gid.data(), text, sizeof text);
    const std::string name = absl::StrCat(text, rest);
    auto file = SharedFile::Make(name, 4096);
    EXPECT_TRUE(file.ok()) << file.status();
    if (file.ok()) {
      *reinterpret_cast<char*>(file->data()) = version;
      *reinterpret_cast<std::int32_t*>(file->data() + 4) = pid;
      files.push_back(*std::move(file));
    }
    return name;
  };
  const NicPlace first{.machine = 1, .nic = 0};
  const std::string of_the_dead = make(GidOf(dead, first), "_0000_2ee17a9b_0000", gone);
  const std::string of_a_later_process = make(GidOf(dead, first), "_0001_2ee17a9b_0000", later);
  const std::string of_the_living = make(GidOf(living, first), "_0000_2ee17a9b_0000", gone);
  const std::string in_use = make(GidOf(dead, first), "_0002_2ee17a9b_0000", getpid());
  const std::string unfinished = make(GidOf(dead, first), "_0003_2ee17a9b_0000", 0);
  const std::string not_shown = make(GidOf(dead, first), "_0004_2ee17a9b_0000", ended);
  const std::string of_a_later_release = make(GidOf(dead, first), "_0005_2ee17a9b_0000", gone, 9);
  const std::string another_name = make(GidOf(dead, first), "_0000_2ee17a9b_0000.log", gone);
  Gid hardware = GidOf(dead, first);
  hardware[13] = 0xfe;
  const std::string of_hardware = make(hardware, "_0000_2ee17a9b_0000", gone);

  RemoveDeadProviderFiles();
  const auto is_there = [](const std::string& name) {
    return access(absl::StrCat(kSharedFolder, name).c_str(), F_OK) == 0;
  };
  EXPECT_FALSE(is_there(of_the_dead));
  EXPECT_FALSE(is_there(of_a_later_process));
  for (const std::string& name : {of_the_living, in_use, unfinished, not_shown, of_a_later_release,
                                  another_name, of_hardware}) {
    EXPECT_TRUE(is_there(name)) << name;
    SharedFile::Unlink(name);
  }
  kill(later, SIGKILL);
  for (const pid_t child : {ended, later}) EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(DirectoryTest, AChildDoesNotOwnTheSlotOfItsParent) {
  const auto first = Join();
  auto second = Join();
  int ready[2];
  int go[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    first->Abandon();
    second->Abandon();
    char byte = 1;
    const bool told = write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1;
    _exit(told ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(first->IsHeld(1));  // the parent's lock is not hurt
  second.reset();
  EXPECT_FALSE(first->IsHeld(1));  // and ends with the parent
  ASSERT_EQ(write(go[1], &byte, 1), 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) close(fd);
}

TEST_F(DirectoryTest, OnlyEqualsShareANetwork) {
  const auto first = Join();
  const auto other = Directory::Join(name_, {.profile = "another", .fingerprint = 43});
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(other.status().message().find("some profile"), std::string::npos);
  EXPECT_NE(other.status().message().find("another"), std::string::npos);
}

TEST(NetworkTermsTest, SayHowManyNicsThereAre) {
  Profile profile;
  profile.name = "p5";
  profile.nics.resize(2);
  EXPECT_EQ(TermsOf(profile).profile, "p5 with 2 NICs");
  const std::uint64_t fingerprint = TermsOf(profile).fingerprint;
  profile.nics.resize(1);
  EXPECT_EQ(TermsOf(profile).profile, "p5 with 1 NIC");
  EXPECT_NE(TermsOf(profile).fingerprint, fingerprint);
}

TEST_F(DirectoryTest, TermsEndWithTheLastOne) {
  Join();
  const auto other = Directory::Join(name_, {.profile = "another", .fingerprint = 43});
  EXPECT_TRUE(other.ok()) << other.status();
}

TEST_F(DirectoryTest, ThereIsRoomForSoMany) {
  std::vector<std::unique_ptr<Directory>> all;
  for (std::size_t i = 0; i < kMachines; ++i) all.push_back(Join());
  EXPECT_EQ(all.back()->slot(), kMachines - 1);
  EXPECT_EQ(Directory::Join(name_, kTerms).status().code(), absl::StatusCode::kResourceExhausted);
  all[7].reset();
  EXPECT_EQ(Join()->slot(), 7u);
}

TEST_F(DirectoryTest, APlaceIsTakenUnlessAnotherProcessHasIt) {
  const auto first = Join();
  const auto join = [&](std::uint8_t slot) {
    return Directory::Join(name_, kTerms, MachinePlace{.slot = slot, .incarnation = 7});
  };
  EXPECT_EQ(join(0).status().code(), absl::StatusCode::kAlreadyExists);
  const auto placed = join(9);
  ASSERT_TRUE(placed.ok()) << placed.status();
  EXPECT_EQ((*placed)->slot(), 9u);
  EXPECT_EQ((*placed)->incarnation(), 7u);
}

TEST_F(DirectoryTest, AFileThatOthersMayOpenIsNotUsed) {
  const std::string path = absl::StrCat(kSharedFolder, name_);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(fchmod(fd, 0666), 0);
  close(fd);
  EXPECT_EQ(Directory::Join(name_, kTerms).status().code(), absl::StatusCode::kUnavailable);
  unlink(path.c_str());
}

TEST_F(DirectoryTest, ALinkIsNotFollowed) {
  const std::string path = absl::StrCat(kSharedFolder, name_);
  ASSERT_EQ(symlink("/dev/null", path.c_str()), 0);
  EXPECT_EQ(Directory::Join(name_, kTerms).status().code(), absl::StatusCode::kUnavailable);
  unlink(path.c_str());
}

}  // namespace
}  // namespace drydock::sim
