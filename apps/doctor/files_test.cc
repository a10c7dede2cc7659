// Reading with suspicion: paths, links, versions, and ELF files of any content.

#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/doctor/elf_library.h"
#include "drydock/apps/doctor/libraries.h"
#include "drydock/apps/doctor/system_files.h"
#include "drydock/apps/doctor/testing/fake_machine.h"
#include "drydock/apps/doctor/version.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::doctor {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;

TEST(SystemFilesTest, LinksStayInTheTree) {
  const FakeMachine machine;
  machine.Write("/etc/here", "inside\n");
  machine.Link("/absolute", "/etc/here");
  machine.Link("/upwards", "../../../../../../etc/here");
  machine.Link("/etc/folder", "/");
  machine.Link("/outside", "/etc/passwd");
  machine.Link("/circle", "circle");
  const SystemFiles files(machine.root() + "/");
  EXPECT_THAT(files.Resolve("/absolute"), IsOkAndHolds("/etc/here"));
  EXPECT_THAT(files.Read("/upwards"), IsOkAndHolds("inside\n"));
  EXPECT_EQ(files.FirstLine("/etc/folder/etc/./folder/../absolute"), "inside");
  EXPECT_THAT(files.Read("/outside"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(files.Read("/circle"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files.Read("/etc"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files.Read("/etc/here/deeper"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(files.Read("/etc/here", 3), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(files.List("/etc"), ElementsAre("folder", "here"));
  EXPECT_THAT(files.List("/nowhere"), IsEmpty());
  EXPECT_FALSE(files.is_this_machine());
}

TEST(SystemFilesTest, NumbersAndLinesAreWhatTheyAre) {
  const FakeMachine machine;
  machine.Write("/number", " -42 \nmore");
  machine.Write("/text", "4 apples\n");
  machine.Write("/escape", "\x1b[31mred\n");
  const SystemFiles files(machine.root());
  EXPECT_EQ(files.Number("/number"), -42);
  EXPECT_EQ(files.Number("/text"), std::nullopt);
  EXPECT_EQ(files.Number("/nothing"), std::nullopt);
  EXPECT_EQ(files.FirstLine("/escape"), "?[31mred");
}

TEST(VersionTest, IsWhatATextBeginsWith) {
  EXPECT_EQ(ParseVersion("2.17.3g"), (Version{2, 17, 3}));
  EXPECT_EQ(ParseVersion("6.8.0-1021-aws"), (Version{6, 8, 0}));
  EXPECT_EQ(ParseVersion("1.22.0amzn1.0"), (Version{1, 22, 0}));
  EXPECT_EQ(ParseVersion("44"), (Version{44, 0, 0}));
  EXPECT_EQ(ParseVersion("1."), (Version{1, 0, 0}));
  EXPECT_EQ(ParseVersion("99999999999.1"), std::nullopt);
  EXPECT_EQ(ParseVersion("v2"), std::nullopt);
  EXPECT_LT((Version{1, 9, 9}), (Version{1, 18, 0}));
  EXPECT_EQ(FormatVersion({1, 18, 0}, 2), "1.18");
  EXPECT_EQ(FormatVersion({1, 18, 1}, 2), "1.18.1");
}

// ---- ELF ----

const FakeLibrary kLibrary = {"libfabric.so.1",
                              {"libefa.so.1", "libc.so.6"},
                              {"FABRIC_1.0", "FABRIC_1.1"},
                              {{"libefa.so.1", "EFA_1.4"}, {"libc.so.6", "GLIBC_2.2.5"}},
                              {"fi_version"}};

TEST(ElfLibraryTest, ReadsWhatWasWritten) {
  const auto library = ReadElfLibrary(FakeElf(kLibrary));
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->name, "libfabric.so.1");
  EXPECT_THAT(library->needs, ElementsAre("libefa.so.1", "libc.so.6"));
  EXPECT_THAT(library->versions, ElementsAre("FABRIC_1.0", "FABRIC_1.1"));
  EXPECT_THAT(library->version_needs, ElementsAre(VersionNeed{"libefa.so.1", "EFA_1.4"},
                                                  VersionNeed{"libc.so.6", "GLIBC_2.2.5"}));
  EXPECT_THAT(library->symbols, ElementsAre("fi_version"));
}

// The C++ library that this test itself runs with: a file that a real linker wrote.
TEST(ElfLibraryTest, ReadsALibraryOfTheSystem) {
  std::ifstream maps("/proc/self/maps");
  std::string path;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libstdc++.so.6") != std::string::npos) path = line.substr(line.find('/'));
  }
  if (path.empty()) GTEST_SKIP() << "the C++ library is linked statically";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto library = ReadElfLibrary(bytes);
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->name, "libstdc++.so.6");
  EXPECT_THAT(library->needs, Contains("libc.so.6"));
  EXPECT_EQ(library->versions.count("GLIBCXX_3.4"), 1u);
  EXPECT_EQ(library->versions.count("libstdc++.so.6"), 0u);
  EXPECT_EQ(library->symbols.count("__cxa_throw"), 1u);
  EXPECT_THAT(library->version_needs,
              Contains(::testing::Field(&VersionNeed::library, "libc.so.6")));
}

TEST(ElfLibraryTest, RefusesWhatIsNone) {
  EXPECT_THAT(ReadElfLibrary(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadElfLibrary("#!/bin/sh\n"), StatusIs(absl::StatusCode::kInvalidArgument));
  std::string other = FakeElf(kLibrary);
  other[4] = 1;  // 32 bits
  EXPECT_THAT(ReadElfLibrary(other), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Cut off anywhere, and with any bytes changed: an answer or an error, never a crash, never long.
TEST(ElfLibraryTest, SurvivesAnyFile) {
  const std::string good = FakeElf(kLibrary);
  for (std::size_t length = 0; length < good.size(); ++length) {
    (void)ReadElfLibrary(absl::string_view(good).substr(0, length));
  }
  std::mt19937 random(1);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int change = 1 + round % 4; change > 0; --change) {
      bytes[random() % bytes.size()] = static_cast<char>(round % 3 == 0 ? 0xff : random());
    }
    read += ReadElfLibrary(bytes).ok() ? 1 : 0;
  }
  EXPECT_GT(read, 1000);
  EXPECT_LT(read, 20000);
}

// A file that claims four thousand million versions, each of which leads to the next.
TEST(ElfLibraryTest, DoesNotBelieveCounts) {
  std::string bytes = FakeElf(kLibrary);
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 2) {
    std::string changed = bytes;
    changed.replace(at, 4, "\xff\xff\xff\x7f");
    (void)ReadElfLibrary(changed);
  }
  EXPECT_TRUE(ReadElfLibrary(bytes).ok());
}

// ---- Where libraries are ----

TEST(LibrariesTest, TheLoadersOrderIsKept) {
  const FakeMachine machine = FakeMachine::Healthy("small");
  machine.InstallLibfabric("/home/me/lib", "2.6.0", "EFA_1.4");
  machine.Link("/usr/lib/libfabric.so.1", "/home/me/lib/libfabric.so.1");  // the same file
  const SystemFiles files(machine.root());
  const auto copies = FindLibrary(files, "relative:/nowhere:/home/me/lib", "libfabric.so.1");
  ASSERT_THAT(copies, SizeIs(2));
  EXPECT_EQ(copies[0].path, "/home/me/lib/libfabric.so.1");
  EXPECT_EQ(copies[0].through, "LD_LIBRARY_PATH");
  EXPECT_EQ(copies[0].version, (Version{2, 6, 0}));
  EXPECT_EQ(copies[1].path, "/opt/amazon/efa/lib/libfabric.so.1");
  EXPECT_EQ(LoadedCopy(copies), &copies[0]);
  EXPECT_THAT(FindLibrary(files, "", "libnone.so.1"), IsEmpty());
}

TEST(LibrariesTest, ReleasesComeFromWhateverTellsThem) {
  const FakeMachine machine = FakeMachine::Healthy("small");
  const SystemFiles files(machine.root());
  const auto version = [&] { return FindLibrary(files, "", "libfabric.so.1").at(0).version; };
  EXPECT_EQ(version(), (Version{2, 4, 0}));
  machine.Remove("/opt/amazon/efa/lib/pkgconfig");
  const std::string head =
      "# EFA installer version: 1.38.0\n# Debug packages installed: no\n# Packages installed:\n";
  machine.Write("/opt/amazon/efa_installed_packages",
                head +
                    "efa-config_1.17_all ibacm_54.0-1_amd64 libfabric1-aws_1.22.0amzn4.0_amd64 "
                    "libfabric-aws-dev_1.22.0amzn4.0_amd64\n");
  EXPECT_EQ(version(), (Version{1, 22, 0}));
  machine.Write("/opt/amazon/efa_installed_packages",
                head +
                    "efa-config-1.17-1.amzn2023.noarch "
                    "libfabric-aws-2.1.0amzn5.0-1.amzn2023.x86_64 "
                    "rdma-core-57.0-1.amzn2023.x86_64\n");
  EXPECT_EQ(version(), (Version{2, 1, 0}));
  machine.Remove("/opt/amazon");
  machine.InstallLibfabric("/usr/lib/x86_64-linux-gnu", "1.0", "EFA_1.0");
  machine.Remove("/usr/lib/x86_64-linux-gnu/pkgconfig");
  machine.Write("/var/lib/dpkg/status",
                "Package: libfabric-bin\nVersion: 9.9-1\n\nPackage: libfabric1\nStatus: install\n"
                "Version: 1:1.17.0-3\n\nPackage: other\nVersion: 3\n");
  EXPECT_EQ(version(), (Version{1, 17, 0}));
  machine.Remove("/var");
  EXPECT_EQ(version(), std::nullopt);
  machine.Write("/usr/lib/x86_64-linux-gnu/libfabric.so.1",
                FakeElf({"libfabric.so.1", {}, {"FABRIC_1.0", "FABRIC_1.8"}}));
  EXPECT_EQ(version(), (Version{2, 0, 0}));  // at least
  EXPECT_EQ(FindLibrary(files, "", "libefa.so.1").at(0).version, (Version{60, 0, 0}));
}

// As in an image that has a few files of Debian.
TEST(LibrariesTest, DebiansFoldersNeedNoConfiguration) {
  const FakeMachine machine = FakeMachine::Healthy("small");
  machine.Remove("/etc");
  machine.Remove("/opt");
  const SystemFiles files(machine.root());
  EXPECT_THAT(FindLibrary(files, "", "libfabric.so.1"), IsEmpty());
  const auto verbs = FindLibrary(files, "", "libibverbs.so.1");
  ASSERT_THAT(verbs, SizeIs(1));
  EXPECT_EQ(verbs[0].path, "/usr/lib/x86_64-linux-gnu/libibverbs.so.1");
  EXPECT_EQ(LoadedCopy(verbs), &verbs[0]);
  machine.InstallLibfabric("/lib/x86_64-linux-gnu", "1.17.0", "EFA_1.0");
  EXPECT_EQ(FindLibrary(files, "", "libfabric.so.1").at(0).path,
            "/lib/x86_64-linux-gnu/libfabric.so.1");
}

TEST(LibrariesTest, ConfigurationThatIncludesItselfEnds) {
  const FakeMachine machine = FakeMachine::Healthy("small");
  machine.Write("/etc/ld.so.conf",
                "include /etc/ld.so.conf\ninclude /etc/ld.so.co*\ninclude relative/*\n"
                "include /etc/ld.so.conf.d/*.conf # all\n");
  EXPECT_THAT(FindLibrary(SystemFiles(machine.root()), "", "libfabric.so.1"), SizeIs(1));
}

}  // namespace
}  // namespace drydock::apps::doctor
