#include "drydock/apps/efa_run/program_check.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

namespace fs = std::filesystem;

// ---- Programs that the test makes byte by byte ----

struct ElfOptions {
  bool interpreter = true;  // false: linked statically
  std::vector<std::string> needs = {"libc.so.6"};
  std::vector<std::string> defines = {"main"};
  std::vector<std::string> imports;
  std::uint32_t symbol_section = SHT_DYNSYM;
};

template <typename Value>
void Append(std::string& bytes, const Value& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The parts of a file, to be spoilt before they are put together:
// header, segments, strings, dynamic entries, symbols, sections.
struct Elf {
  explicit Elf(const ElfOptions& options = {}) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    segments.push_back({.p_type = PT_LOAD});
    if (options.interpreter) segments.push_back({.p_type = PT_INTERP});
    for (const std::string& library : options.needs) {
      Elf64_Dyn entry{.d_tag = DT_NEEDED};
      entry.d_un.d_val = Text(library);
      dynamic.push_back(entry);
    }
    dynamic.push_back({.d_tag = DT_NULL});
    symbols.push_back({});
    for (const std::string& name : options.defines) {
      symbols.push_back({.st_name = Text(name), .st_shndx = 1});
    }
    for (const std::string& name : options.imports) {
      symbols.push_back({.st_name = Text(name), .st_shndx = SHN_UNDEF});
    }
    Place(options.symbol_section);
  }

  std::string Bytes() const {
    std::string bytes;
    Append(bytes, header);
    for (const Elf64_Phdr& segment : segments) Append(bytes, segment);
    bytes += strings;
    for (const Elf64_Dyn& entry : dynamic) Append(bytes, entry);
    for (const Elf64_Sym& symbol : symbols) Append(bytes, symbol);
    for (const Elf64_Shdr& section : sections) Append(bytes, section);
    return bytes;
  }

  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;
  std::string strings = std::string(1, '\0');
  std::vector<Elf64_Dyn> dynamic;
  std::vector<Elf64_Sym> symbols;
  std::vector<Elf64_Shdr> sections;  // none, strings, dynamic, symbols

 private:
  std::uint32_t Text(const std::string& text) {
    const auto at = static_cast<std::uint32_t>(strings.size());
    strings += text + '\0';
    return at;
  }
  void Place(std::uint32_t symbol_section) {
    std::uint64_t at = sizeof header;
    header.e_phoff = at;
    header.e_phnum = static_cast<std::uint16_t>(segments.size());
    at += segments.size() * sizeof(Elf64_Phdr);
    sections.push_back({});
    const auto add = [&](std::uint32_t type, std::uint64_t size, std::uint32_t link) {
      sections.push_back({.sh_type = type, .sh_offset = at, .sh_size = size, .sh_link = link});
      at += size;
    };
    add(SHT_STRTAB, strings.size(), 0);
    add(SHT_DYNAMIC, dynamic.size() * sizeof(Elf64_Dyn), 1);
    add(symbol_section, symbols.size() * sizeof(Elf64_Sym), 1);
    header.e_shoff = at;
    header.e_shnum = static_cast<std::uint16_t>(sections.size());
  }
};

class ProgramCheckTest : public ::testing::Test {
 protected:
  ProgramCheckTest()
      : folder_(fs::path(::testing::TempDir()) /
                (std::string("programs-") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ProgramCheckTest() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes, mode_t mode = 0755) const {
    const std::string file = (folder_ / name).string();
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    EXPECT_EQ(chmod(file.c_str(), mode), 0);
    return file;
  }
  absl::Status Check(const std::string& bytes) const {
    return CheckProgram(Write("program", bytes));
  }
  absl::Status Check(const Elf& elf) const { return Check(elf.Bytes()); }

  const fs::path folder_;
};

bool Refuses(const absl::Status& status, const std::string& why) {
  return absl::IsFailedPrecondition(status) &&
         status.message().find(why) != absl::string_view::npos &&
         status.message().find('\n') == absl::string_view::npos;
}

// ---- Programs that are fine ----

TEST_F(ProgramCheckTest, AProgramLikeMost) {
  EXPECT_EQ(Check(Elf()), absl::OkStatus());
  EXPECT_EQ(Check(Elf({.needs = {"libfabric.so.1", "libc.so.6"}, .imports = {"fi_getinfo"}})),
            absl::OkStatus());
  EXPECT_EQ(Check(Elf({.defines = {"fi_getinfo_", "my_fi_getinfo", "fi_get"}})), absl::OkStatus());
}

TEST_F(ProgramCheckTest, ThisProgram) {
  const absl::Status status = CheckProgram("/proc/self/exe");
  EXPECT_EQ(status, absl::OkStatus());
}

TEST_F(ProgramCheckTest, WhatIsNoProgramOfOurKind) {
  EXPECT_EQ(Check("#!/bin/sh\nexec fi_info\n"), absl::OkStatus());
  EXPECT_EQ(Check(""), absl::OkStatus());
  Elf narrow({.interpreter = false});
  narrow.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(Check(narrow), absl::OkStatus());
  Elf big_endian({.interpreter = false});
  big_endian.header.e_ident[EI_DATA] = ELFDATA2MSB;
  EXPECT_EQ(Check(big_endian), absl::OkStatus());
}

// ---- Programs that are not ----

TEST_F(ProgramCheckTest, AStaticProgram) {
  EXPECT_TRUE(Refuses(Check(Elf({.interpreter = false})), "linked statically"));
}

TEST_F(ProgramCheckTest, ALibfabricInside) {
  for (const std::uint32_t section : {SHT_DYNSYM, SHT_SYMTAB}) {
    const ElfOptions without{.defines = {"main", "fi_getinfo"}, .symbol_section = section};
    EXPECT_TRUE(Refuses(Check(Elf(without)), "a libfabric of its own")) << section;
    ElfOptions with = without;
    with.needs = {"libc.so.6", "libibverbs.so.1"};
    EXPECT_EQ(Check(Elf(with)), absl::OkStatus()) << section;
  }
}

TEST_F(ProgramCheckTest, AFileThatIsNotThere) {
  EXPECT_TRUE(Refuses(CheckProgram((folder_ / "missing").string()), "cannot be read"));
}

TEST_F(ProgramCheckTest, TheRefusalNamesTheFile) {
  const std::string file = Write("static", Elf({.interpreter = false}).Bytes());
  EXPECT_TRUE(Refuses(CheckProgram(file), file));
}

// ---- Files that are not what they say ----

// For a file of any content: one of the two answers.
bool Answers(const absl::Status& status) {
  return status.ok() || absl::IsFailedPrecondition(status);
}

TEST_F(ProgramCheckTest, AFileThatIsCutOff) {
  const Elf elf({.defines = {"fi_getinfo"}});
  const std::string bytes = elf.Bytes();
  ASSERT_FALSE(Check(bytes).ok());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const absl::Status status = Check(bytes.substr(0, length));
    if (length < sizeof elf.header) {
      EXPECT_EQ(status, absl::OkStatus()) << length;  // not even a header
    } else if (length < elf.header.e_phoff + elf.segments.size() * sizeof(Elf64_Phdr)) {
      EXPECT_TRUE(Refuses(status, "linked statically")) << length;
    } else {
      EXPECT_EQ(status, absl::OkStatus()) << length;  // its sections cannot be read
    }
  }
}

TEST_F(ProgramCheckTest, NumbersThatLeadNowhere) {
  using Spoil = std::function<void(Elf&, std::uint64_t)>;
  const std::vector<Spoil> spoils = {
      [](Elf& elf, std::uint64_t n) { elf.header.e_phoff = n; },
      [](Elf& elf, std::uint64_t n) { elf.header.e_shoff = n; },
      [](Elf& elf, std::uint64_t n) { elf.header.e_phnum = static_cast<std::uint16_t>(n); },
      [](Elf& elf, std::uint64_t n) { elf.header.e_shnum = static_cast<std::uint16_t>(n); },
      [](Elf& elf, std::uint64_t n) { elf.sections[1].sh_offset = n; },
      [](Elf& elf, std::uint64_t n) { elf.sections[1].sh_size = n; },
      [](Elf& elf, std::uint64_t n) { elf.sections[2].sh_offset = n; },
      [](Elf& elf, std::uint64_t n) { elf.sections[2].sh_size = n; },
      [](Elf& elf, std::uint64_t n) { elf.sections[2].sh_link = static_cast<std::uint32_t>(n); },
      [](Elf& elf, std::uint64_t n) { elf.sections[3].sh_offset = n; },
      [](Elf& elf, std::uint64_t n) { elf.sections[3].sh_size = n; },
      [](Elf& elf, std::uint64_t n) { elf.sections[3].sh_link = static_cast<std::uint32_t>(n); },
      [](Elf& elf, std::uint64_t n) { elf.symbols[1].st_name = static_cast<std::uint32_t>(n); },
      [](Elf& elf, std::uint64_t n) { elf.dynamic[0].d_un.d_val = n; },
  };
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    for (const std::uint64_t number :
         {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 63, UINT64_MAX / 2, UINT64_MAX / 24,
          UINT64_C(1) << 32, UINT64_C(0xffffffff), UINT64_C(0xffff), UINT64_C(4)}) {
      Elf elf({.needs = {"libibverbs.so.1"}, .defines = {"fi_getinfo"}});
      spoils[i](elf, number);
      EXPECT_TRUE(Answers(Check(elf))) << i << ", " << number;
    }
  }
}

TEST_F(ProgramCheckTest, TextsThatDoNotEnd) {
  Elf elf({.defines = {"fi_getinfo"}});
  elf.sections[1].sh_size -= 1;  // the last one has no zero at its end
  EXPECT_TRUE(Refuses(Check(elf), "a libfabric of its own"));
  elf.sections[1].sh_size -= 1;  // "fi_getinf"
  EXPECT_EQ(Check(elf), absl::OkStatus());
}

TEST_F(ProgramCheckTest, TextsFarBehindTheFile) {
  Elf elf({.defines = {"fi_getinfo"}});
  elf.sections[1].sh_size = UINT64_MAX / 2;
  elf.symbols[1].st_name = UINT32_MAX;  // 4 GiB on: nothing is mapped there
  elf.dynamic[0].d_un.d_val = UINT64_MAX / 4;
  EXPECT_EQ(Check(elf), absl::OkStatus());
}

TEST_F(ProgramCheckTest, Rubbish) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::string bytes = Elf({.defines = {"fi_getinfo"}}).Bytes();
    const int changes = 1 << (seed % 8);
    for (int i = 0; i < changes; ++i)
      bytes[16 + random() % (bytes.size() - 16)] = static_cast<char>(random());
    EXPECT_TRUE(Answers(Check(bytes))) << "seed " << seed;
  }
}

// ---- Rights ----

TEST_F(ProgramCheckTest, SetUserIdOfOurOwn) {
  // It changes nothing: libraries can be put in front of it.
  const std::string bytes = Elf().Bytes();
  EXPECT_EQ(CheckProgram(Write("own", bytes, 04755)), absl::OkStatus());
}

TEST_F(ProgramCheckTest, SetUserIdOfSomebodyElse) {
  const std::string file = Write("theirs", Elf().Bytes());
  if (chown(file.c_str(), geteuid() + 1, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "only root can give a file away";
  }
  EXPECT_EQ(CheckProgram(file), absl::OkStatus());
  ASSERT_EQ(chmod(file.c_str(), 04755), 0);
  EXPECT_TRUE(Refuses(CheckProgram(file), "other rights than yours"));
}

TEST_F(ProgramCheckTest, SetGroupIdOfAnotherGroup) {
  const std::string file = Write("theirs", "#!/bin/sh\n");
  if (chown(file.c_str(), static_cast<uid_t>(-1), getegid() + 1) != 0) {
    GTEST_SKIP() << "only root can give a file away";
  }
  EXPECT_EQ(CheckProgram(file), absl::OkStatus());
  ASSERT_EQ(chmod(file.c_str(), 02755), 0);
  EXPECT_TRUE(Refuses(CheckProgram(file), "other rights than yours"));
}

TEST_F(ProgramCheckTest, FileCapabilities) {
  const std::string file = Write("capable", Elf().Bytes());
  // linux/capability.h, struct vfs_cap_data: revision 2, effective; CAP_NET_RAW is permitted.
  const std::uint32_t data[5] = {0x02000001, 1u << 13, 0, 0, 0};
  if (setxattr(file.c_str(), "security.capability", data, sizeof data, 0) != 0) {
    GTEST_SKIP() << "no right to give capabilities, or no file system for them";
  }
  EXPECT_TRUE(Refuses(CheckProgram(file), "capabilities"));
}

// ---- Where a shell would find it ----

TEST_F(ProgramCheckTest, TheFirstFolderOfThePath) {
  const std::string first = Write("a/tool", "a");
  const std::string second = Write("b/tool", "b");
  const std::string path =
      fs::path(first).parent_path().string() + ":" + fs::path(second).parent_path().string();
  EXPECT_EQ(FindProgram("tool", path).value_or("none"), first);
  fs::remove(first);
  EXPECT_EQ(FindProgram("tool", path).value_or("none"), second);
  fs::remove(second);
  const absl::Status status = FindProgram("tool", path).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message(), "tool: no such program");
}

TEST_F(ProgramCheckTest, AWordWithASlashIsAFile) {
  const std::string file = Write("a/tool", "a");
  EXPECT_EQ(FindProgram(file, "").value_or("none"), file);
  const std::string folder = fs::path(file).parent_path().string();
  EXPECT_TRUE(absl::IsNotFound(FindProgram("./no-such-tool", folder).status()));
}

TEST_F(ProgramCheckTest, WhatCannotBeRunIsPassedOver) {
  const std::string data = Write("a/tool", "a", 0644);
  const std::string folder = fs::path(data).parent_path().string();
  const absl::Status status = FindProgram("tool", folder).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_EQ(status.message(), "tool: not executable");
  const std::string program = Write("b/tool", "b");
  const std::string other = fs::path(program).parent_path().string();
  EXPECT_EQ(FindProgram("tool", folder + ":" + other).value_or("none"), program);
  fs::create_directories(folder_ / "c/tool");  // a folder of that name
  EXPECT_EQ(FindProgram("tool", (folder_ / "c").string() + ":" + other).value_or("none"), program);
}

TEST_F(ProgramCheckTest, AnEmptyFolderOfThePathIsThisOne) {
  Write("tool", "a");
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_EQ(FindProgram("tool", "/nowhere:").value_or("none"), "./tool");
  EXPECT_EQ(FindProgram("tool", "").value_or("none"), "./tool");
  fs::current_path(before);
}

}  // namespace
}  // namespace drydock::apps
