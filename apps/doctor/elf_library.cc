// Layouts: System V ABI, and the Linux Standard Base's chapter on symbol versioning, as glibc's
// elf.h has them.

#include "drydock/apps/doctor/elf_library.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"

namespace drydock::apps::doctor {
namespace {

constexpr std::size_t kMaxName = 512;           // bytes; longer names are no names
constexpr std::uint32_t kMaxEntries = 1 << 17;  // of all tables; what comes behind is not read

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<ElfLibrary> Read();

 private:
  template <typename Value>
  bool Load(std::uint64_t offset, Value& value) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return true;
  }

  // Every entry of a table, as far as the file goes.
  template <typename Value, typename Visit>
  void ForEach(const Elf64_Shdr& section, Visit visit) {
    Value value;
    std::uint64_t offset = section.sh_offset;
    for (std::uint64_t left = section.sh_size / sizeof value; left > 0 && LoadEntry(offset, value);
         --left, offset += sizeof value) {
      visit(value);
    }
  }

  // One more entry of a table, unless there were too many.
  template <typename Value>
  bool LoadEntry(std::uint64_t offset, Value& value) {
    if (entries_left_ == 0) return false;
    --entries_left_;
    return Load(offset, value);
  }

  // The text at `offset` of the section of strings that belongs to a table.
  std::string Text(const Elf64_Shdr& strings, std::uint64_t offset) const {
    if (strings.sh_offset > bytes_.size()) return "";
    const absl::string_view all = bytes_.substr(strings.sh_offset, strings.sh_size);
    if (offset >= all.size()) return "";
    const absl::string_view rest = all.substr(offset, kMaxName);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  void ReadDynamic(const Elf64_Shdr& section, const Elf64_Shdr& strings);
  void ReadSymbols(const Elf64_Shdr& section, const Elf64_Shdr& strings);
  void ReadVersions(const Elf64_Shdr& section, const Elf64_Shdr& strings);
  void ReadVersionNeeds(const Elf64_Shdr& section, const Elf64_Shdr& strings);

  const absl::string_view bytes_;
  Elf64_Ehdr header_{};
  std::uint32_t entries_left_ = kMaxEntries;
  ElfLibrary library_;
};

void Reader::ReadDynamic(const Elf64_Shdr& section, const Elf64_Shdr& strings) {
  ForEach<Elf64_Dyn>(section, [&](const Elf64_Dyn& entry) {
    if (entry.d_tag == DT_NEEDED) library_.needs.push_back(Text(strings, entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) library_.name = Text(strings, entry.d_un.d_val);
  });
}

void Reader::ReadSymbols(const Elf64_Shdr& section, const Elf64_Shdr& strings) {
  ForEach<Elf64_Sym>(section, [&](const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) return;
    library_.symbols.insert(Text(strings, symbol.st_name));
  });
}

// The lists of versions are chained by distances from one entry to the next; sh_info counts them.
// A distance of zero ends a list, and none leads back, so that every walk ends.
void Reader::ReadVersions(const Elf64_Shdr& section, const Elf64_Shdr& strings) {
  std::uint64_t offset = section.sh_offset;
  Elf64_Verdef version;
  for (std::uint32_t left = section.sh_info; left > 0 && LoadEntry(offset, version); --left) {
    Elf64_Verdaux name;
    const bool is_file = (version.vd_flags & VER_FLG_BASE) != 0;  // the library's own name
    if (!is_file && Load(offset + version.vd_aux, name)) {
      library_.versions.insert(Text(strings, name.vda_name));
    }
    if (version.vd_next == 0) return;
    offset += version.vd_next;
  }
}

void Reader::ReadVersionNeeds(const Elf64_Shdr& section, const Elf64_Shdr& strings) {
  std::uint64_t offset = section.sh_offset;
  Elf64_Verneed need;
  for (std::uint32_t left = section.sh_info; left > 0 && LoadEntry(offset, need); --left) {
    const std::string library = Text(strings, need.vn_file);
    std::uint64_t at = offset + need.vn_aux;
    Elf64_Vernaux name;
    for (std::uint32_t names = need.vn_cnt; names > 0 && LoadEntry(at, name); --names) {
      library_.version_needs.push_back(
          {library, Text(strings, name.vna_name), (name.vna_flags & VER_FLG_WEAK) != 0});
      if (name.vna_next == 0) break;
      at += name.vna_next;
    }
    if (need.vn_next == 0) return;
    offset += need.vn_next;
  }
}

absl::StatusOr<ElfLibrary> Reader::Read() {
  if (!Load(0, header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) {
    return absl::InvalidArgumentError("no ELF file");
  }
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) {
    return absl::InvalidArgumentError("an ELF file of another machine");
  }
  bool dynamic = false;
  for (std::uint64_t i = 0; i < header_.e_shnum && entries_left_ > 0; ++i) {
    Elf64_Shdr section, strings;
    if (!Load(header_.e_shoff + i * sizeof section, section)) break;
    if (section.sh_link >= header_.e_shnum ||
        !Load(header_.e_shoff + std::uint64_t{section.sh_link} * sizeof strings, strings)) {
      continue;
    }
    dynamic = dynamic || section.sh_type == SHT_DYNAMIC;
    if (section.sh_type == SHT_DYNAMIC) ReadDynamic(section, strings);
    if (section.sh_type == SHT_DYNSYM) ReadSymbols(section, strings);
    if (section.sh_type == SHT_GNU_verdef) ReadVersions(section, strings);
    if (section.sh_type == SHT_GNU_verneed) ReadVersionNeeds(section, strings);
  }
  if (!dynamic) return absl::InvalidArgumentError("an ELF file, and no shared library");
  return library_;
}

}  // namespace

absl::StatusOr<ElfLibrary> ReadElfLibrary(absl::string_view bytes) { return Reader(bytes).Read(); }

}  // namespace drydock::apps::doctor
