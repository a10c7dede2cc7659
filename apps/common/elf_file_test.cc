#include "drydock/apps/common/elf_file.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;

// A header, and sections that all name the same bytes: the whole file, or `size` of it.
std::string FileOfSections(std::size_t count, std::uint64_t size) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof header;
  header.e_shnum = static_cast<std::uint16_t>(count);
  const Elf64_Shdr section{.sh_type = SHT_DYNAMIC, .sh_offset = 0, .sh_size = size};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  for (std::size_t i = 0; i < count; ++i) {
    bytes.append(reinterpret_cast<const char*>(&section), sizeof section);
  }
  return bytes;
}

std::size_t EntriesOfAllSections(const std::string& bytes, std::uint64_t most = UINT64_MAX) {
  ElfFile file = *ElfFile::Open(bytes, most);
  std::size_t entries = 0;
  file.ForEachSection([&](const Elf64_Shdr& section, const Elf64_Shdr&) {
    file.ForEachEntry<Elf64_Dyn>(section, [&](const Elf64_Dyn&) { ++entries; });
  });
  return entries;
}

TEST(ElfFileTest, TablesEndWithTheFile) {
  EXPECT_EQ(EntriesOfAllSections(FileOfSections(1, 64)), 4u);
  EXPECT_EQ(EntriesOfAllSections(FileOfSections(1, UINT64_MAX)), 8u);
}

// Ten thousand sections, each of which is the whole file: 400 million entries.
TEST(ElfFileTest, TablesThatOverlapAreNotWalkedThroughAgainAndAgain) {
  const std::string bytes = FileOfSections(10000, UINT64_MAX);
  EXPECT_LE(EntriesOfAllSections(bytes), bytes.size() / 8);
  EXPECT_LE(EntriesOfAllSections(bytes, 100), 100u);
}

TEST(ElfFileTest, TextsEndWithTheirSectionAndAt512Bytes) {
  const std::string bytes = FileOfSections(1, 0) + "one" + '\0' + "two" + std::string(600, '.');
  const ElfFile file = *ElfFile::Open(bytes);
  const std::uint64_t at = bytes.size() - 607;
  const auto text = [&](std::uint64_t from, std::uint64_t size, std::uint64_t offset) {
    return std::string(file.Text({.sh_offset = from, .sh_size = size}, offset));
  };
  const std::vector<std::string> texts = {
      text(at, 7, 0),   text(at, 7, 1),          text(at, 7, 4),
      text(at, 7, 7),   text(at, 6, 4),          text(at, UINT64_MAX, bytes.size()),
      text(at, 0, 0),   text(UINT64_MAX, 1, 0),  text(at, UINT64_MAX, UINT64_MAX),
      text(at, 5, ~0u), text(bytes.size(), 1, 0)};
  EXPECT_THAT(texts, ElementsAre("one", "ne", "two", "", "tw", "", "", "", "", "", ""));
  EXPECT_EQ(text(at, UINT64_MAX, 4).size(), 512u);
}

TEST(ElfFileTest, RefusesWhatIsNone) {
  EXPECT_THAT(ElfFile::Open(""), StatusIs(absl::StatusCode::kInvalidArgument));
  std::string other = FileOfSections(0, 0);
  EXPECT_TRUE(ElfFile::Open(other).ok());
  EXPECT_THAT(ElfFile::Open(absl::string_view(other).substr(0, 63)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  other[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(ElfFile::Open(other), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace drydock::apps
