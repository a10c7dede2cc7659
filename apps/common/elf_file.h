// The tables of an ELF file of any content: none of its values is trusted.
//
//   ASSIGN_OR_RETURN(ElfFile file, ElfFile::Open(bytes));
//   file.ForEachSection([&](const Elf64_Shdr& section, const Elf64_Shdr& strings) {
//     if (section.sh_type != SHT_DYNAMIC) return;
//     file.ForEachEntry<Elf64_Dyn>(section, [&](const Elf64_Dyn& entry) {
//       if (entry.d_tag == DT_NEEDED) std::cout << file.Text(strings, entry.d_un.d_val) << "\n";
//     });
//   });

#ifndef DRYDOCK_APPS_COMMON_ELF_FILE_H_
#define DRYDOCK_APPS_COMMON_ELF_FILE_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::apps {

// Every offset is checked, and tables that lead out of the file end there. Walks end: all of them
// together visit no more entries than the file has room for. The tables of a file that a linker
// wrote do not overlap, so this is enough to walk through each of them once, and through the
// sections several times.
class ElfFile {
 public:
  // `bytes` is the whole file, and outlives the result. Walks visit at most `most_entries`, where
  // that is less. kInvalidArgument, in a few words: no ELF file of 64 bits in little-endian order.
  static absl::StatusOr<ElfFile> Open(absl::string_view bytes,
                                      std::uint64_t most_entries = UINT64_MAX);

  // Calls visit(segment) with each Elf64_Phdr.
  template <typename Visit>
  void ForEachSegment(Visit visit) {
    Walk<Elf64_Phdr>(header_.e_phoff, header_.e_phnum, visit);
  }

  // Calls visit(section, strings) with each section that belongs to another one, and with that one:
  // of a table, the section of its strings.
  template <typename Visit>
  void ForEachSection(Visit visit) {
    Walk<Elf64_Shdr>(header_.e_shoff, header_.e_shnum, [&](const Elf64_Shdr& section) {
      Elf64_Shdr strings;
      if (section.sh_link >= header_.e_shnum) return;
      if (!Load(header_.e_shoff + std::uint64_t{section.sh_link} * sizeof strings, strings)) return;
      visit(section, strings);
    });
  }

  // Calls visit(entry) with each entry of a table.
  template <typename Entry, typename Visit>
  void ForEachEntry(const Elf64_Shdr& section, Visit visit) {
    Walk<Entry>(section.sh_offset, section.sh_size / sizeof(Entry), visit);
  }

  // The entry at `offset` of the file, for tables whose entries lead to each other. False: it is
  // not in the file, or enough entries were visited.
  template <typename Entry>
  bool LoadEntry(std::uint64_t offset, Entry& entry) {
    if (entries_left_ == 0) return false;
    --entries_left_;
    return Load(offset, entry);
  }

  // The text at `offset` of a section of strings, cut off at 512 bytes; empty where there is none.
  absl::string_view Text(const Elf64_Shdr& strings, std::uint64_t offset) const;

 private:
  ElfFile(absl::string_view bytes, std::uint64_t most_entries);

  template <typename Value>
  bool Load(std::uint64_t offset, Value& value) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return true;
  }

  template <typename Entry, typename Visit>
  void Walk(std::uint64_t offset, std::uint64_t count, Visit visit) {
    Entry entry;
    for (; count > 0 && LoadEntry(offset, entry); --count, offset += sizeof entry) visit(entry);
  }

  absl::string_view bytes_;
  Elf64_Ehdr header_{};
  std::uint64_t entries_left_;
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_ELF_FILE_H_
