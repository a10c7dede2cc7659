// Layouts: System V ABI, and the Linux Standard Base's chapter on symbol versioning, as glibc's
// elf.h has them.

#include "drydock/apps/doctor/elf_library.h"

#include <elf.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "drydock/apps/common/elf_file.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::doctor {
namespace {

// Of all tables; entries after them are not read.
constexpr std::uint64_t kMaxEntries = 1 << 17;

class Reader {
 public:
  explicit Reader(const ElfFile& file) : file_(file) {}

  absl::StatusOr<ElfLibrary> Read();

 private:
  std::string Text(const Elf64_Shdr& strings, std::uint64_t offset) const {
    return std::string(file_.Text(strings, offset));
  }

  void ReadDynamic(const Elf64_Shdr& section, const Elf64_Shdr& strings);
  void ReadSymbols(const Elf64_Shdr& section, const Elf64_Shdr& strings);
  void ReadVersions(const Elf64_Shdr& section, const Elf64_Shdr& strings);
  void ReadVersionNeeds(const Elf64_Shdr& section, const Elf64_Shdr& strings);

  ElfFile file_;
  ElfLibrary library_;
};

void Reader::ReadDynamic(const Elf64_Shdr& section, const Elf64_Shdr& strings) {
  file_.ForEachEntry<Elf64_Dyn>(section, [&](const Elf64_Dyn& entry) {
    if (entry.d_tag == DT_NEEDED) library_.needs.push_back(Text(strings, entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) library_.name = Text(strings, entry.d_un.d_val);
  });
}

void Reader::ReadSymbols(const Elf64_Shdr& section, const Elf64_Shdr& strings) {
  file_.ForEachEntry<Elf64_Sym>(section, [&](const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) return;
    library_.symbols.insert(Text(strings, symbol.st_name));
  });
}

// The lists of versions are chained by distances from one entry to the next; sh_info counts them.
// A distance of zero ends a list, and none leads back, so that every walk ends.
void Reader::ReadVersions(const Elf64_Shdr& section, const Elf64_Shdr& strings) {
  std::uint64_t offset = section.sh_offset;
  Elf64_Verdef version;
  for (std::uint32_t left = section.sh_info; left > 0 && file_.LoadEntry(offset, version); --left) {
    Elf64_Verdaux name;
    const bool is_file = (version.vd_flags & VER_FLG_BASE) != 0;  // the library's own name
    if (!is_file && file_.LoadEntry(offset + version.vd_aux, name)) {
      library_.versions.insert(Text(strings, name.vda_name));
    }
    if (version.vd_next == 0) return;
    offset += version.vd_next;
  }
}

void Reader::ReadVersionNeeds(const Elf64_Shdr& section, const Elf64_Shdr& strings) {
  std::uint64_t offset = section.sh_offset;
  Elf64_Verneed need;
  for (std::uint32_t left = section.sh_info; left > 0 && file_.LoadEntry(offset, need); --left) {
    const std::string library = Text(strings, need.vn_file);
    std::uint64_t at = offset + need.vn_aux;
    Elf64_Vernaux name;
    for (std::uint32_t names = need.vn_cnt; names > 0 && file_.LoadEntry(at, name); --names) {
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
  bool dynamic = false;
  file_.ForEachSection([&](const Elf64_Shdr& section, const Elf64_Shdr& strings) {
    dynamic = dynamic || section.sh_type == SHT_DYNAMIC;
    if (section.sh_type == SHT_DYNAMIC) ReadDynamic(section, strings);
    if (section.sh_type == SHT_DYNSYM) ReadSymbols(section, strings);
    if (section.sh_type == SHT_GNU_verdef) ReadVersions(section, strings);
    if (section.sh_type == SHT_GNU_verneed) ReadVersionNeeds(section, strings);
  });
  if (!dynamic) return absl::InvalidArgumentError("an ELF file, and no shared library");
  return library_;
}

}  // namespace

absl::StatusOr<ElfLibrary> ReadElfLibrary(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const ElfFile file, ElfFile::Open(bytes, kMaxEntries));
  return Reader(file).Read();
}

}  // namespace drydock::apps::doctor
