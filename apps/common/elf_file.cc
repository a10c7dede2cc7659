#include "drydock/apps/common/elf_file.h"

#include <algorithm>

#include "absl/status/status.h"

namespace drydock::apps {
namespace {

constexpr std::size_t kMaxName = 512;                          // bytes
constexpr std::size_t kSmallestEntry = sizeof(Elf64_Verdaux);  // bytes

}  // namespace

ElfFile::ElfFile(absl::string_view bytes, std::uint64_t most_entries)
    : bytes_(bytes),
      entries_left_(std::min<std::uint64_t>(most_entries, bytes.size() / kSmallestEntry)) {}

absl::StatusOr<ElfFile> ElfFile::Open(absl::string_view bytes, std::uint64_t most_entries) {
  ElfFile file(bytes, most_entries);
  if (!file.Load(0, file.header_) || std::memcmp(file.header_.e_ident, ELFMAG, SELFMAG) != 0) {
    return absl::InvalidArgumentError("no ELF file");
  }
  const unsigned char* const kind = file.header_.e_ident;
  if (kind[EI_CLASS] != ELFCLASS64 || kind[EI_DATA] != ELFDATA2LSB) {
    return absl::InvalidArgumentError("an ELF file of another machine");
  }
  return file;
}

absl::string_view ElfFile::Text(const Elf64_Shdr& strings, std::uint64_t offset) const {
  if (strings.sh_offset > bytes_.size()) return {};
  const absl::string_view all = bytes_.substr(strings.sh_offset, strings.sh_size);
  if (offset >= all.size()) return {};
  const absl::string_view text = all.substr(offset, kMaxName);
  return text.substr(0, text.find('\0'));
}

}  // namespace drydock::apps
