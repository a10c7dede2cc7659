#include "drydock/sim/hosts/sockets/key.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

class KeyTest : public testing::Test {
 protected:
  KeyTest() { unlink(file_.c_str()); }

  void Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(file_) << text;
    chmod(file_.c_str(), mode);
  }
  absl::StatusCode CodeOf() { return ReadKey(file_).status().code(); }

  const std::string file_ = testing::TempDir() + "/key";
};

TEST_F(KeyTest, IsMadeOnceAndReadAgain) {
  EXPECT_EQ(CodeOf(), absl::StatusCode::kNotFound);
  const absl::StatusOr<Key> made = ReadOrMakeKey(file_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*ReadOrMakeKey(file_), *made);
  EXPECT_EQ(*ReadKey(file_), *made);
  struct stat status;
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::TempDir())) {
    if (entry.path().string().starts_with(file_ + ".")) ++left;
  }
  EXPECT_EQ(left, 0u);
  unlink(file_.c_str());
  EXPECT_NE(*ReadOrMakeKey(file_), *made);
}

TEST_F(KeyTest, IsItsDigits) {
  Write("000102030405060708090a0b0c0d0eff\n");
  const absl::StatusOr<Key> key = ReadKey(file_);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ((*key)[10], std::byte{0x0a});
  EXPECT_EQ((*key)[15], std::byte{0xff});
}

TEST_F(KeyTest, WhatIsNoKeyIsRefused) {
  for (const char* text : {"", "0001", "000102030405060708090a0b0c0d0e0G"}) {
    Write(text);
    EXPECT_EQ(CodeOf(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST_F(KeyTest, AFolderIsNoKey) {
  std::filesystem::create_directory(file_);
  EXPECT_EQ(ReadKey(file_).status().message(), "key file " + file_ + ": is no file");
  std::filesystem::remove(file_);
}

TEST_F(KeyTest, AFileThatCannotBeMadeIsNamedAsItWasGiven) {
  EXPECT_EQ(ReadOrMakeKey("/no/such/folder/key").status().message(),
            "key file /no/such/folder/key: No such file or directory");
}

TEST_F(KeyTest, WhatOthersMayReadIsRefused) {
  Write("000102030405060708090a0b0c0d0eff\n", 0640);
  EXPECT_EQ(CodeOf(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ReadOrMakeKey(file_).status().code(), absl::StatusCode::kPermissionDenied);
}

// As another user's file of mode 0600 is: the kernel does not even open it.
TEST_F(KeyTest, WhatWeMayNotOpenIsRefused) {
  Write("000102030405060708090a0b0c0d0eff\n", 0);
  const pid_t child = fork();
  if (child == 0) {
    // Root without its capabilities: in a sandbox there may be no other user to become.
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    if (syscall(SYS_capset, &header, none) != 0) _exit(2);
    _exit(CodeOf() == absl::StatusCode::kPermissionDenied ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  unlink(file_.c_str());
}

TEST_F(KeyTest, AFolderThatIsNotThereIsSaid) {
  EXPECT_EQ(ReadOrMakeKey("/nowhere/key").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace drydock::sim
