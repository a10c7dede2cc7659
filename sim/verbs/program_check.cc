#include "drydock/sim/verbs/program_check.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim::verbs {
namespace {

// A file of any content: none of its values is trusted.
class ElfFile {
 public:
  explicit ElfFile(std::string bytes) : bytes_(std::move(bytes)) {
    valid_ = Load(0, header_) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
             header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB;
  }
  bool valid() const { return valid_; }

  bool HasInterpreter() const {
    bool found = false;
    ForEach<Elf64_Phdr>(header_.e_phoff, header_.e_phnum, [&](const Elf64_Phdr& segment) {
      found = found || segment.p_type == PT_INTERP;
    });
    return found;
  }

  bool Needs(std::string_view library) const {
    bool found = false;
    ForEachSection(SHT_DYNAMIC, [&](const Elf64_Shdr& section, const Elf64_Shdr& strings) {
      ForEach<Elf64_Dyn>(
          section.sh_offset, section.sh_size / sizeof(Elf64_Dyn), [&](const Elf64_Dyn& entry) {
            found =
                found || (entry.d_tag == DT_NEEDED && Text(strings, entry.d_un.d_val) == library);
          });
    });
    return found;
  }

  bool Defines(std::string_view function) const {
    bool found = false;
    for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
      ForEachSection(type, [&](const Elf64_Shdr& section, const Elf64_Shdr& strings) {
        ForEach<Elf64_Sym>(
            section.sh_offset, section.sh_size / sizeof(Elf64_Sym), [&](const Elf64_Sym& symbol) {
              found = found ||
                      (symbol.st_shndx != SHN_UNDEF && Text(strings, symbol.st_name) == function);
            });
      });
    }
    return found;
  }

 private:
  template <typename Value>
  bool Load(std::uint64_t offset, Value& value) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return true;
  }

  template <typename Value, typename Visit>
  void ForEach(std::uint64_t offset, std::uint64_t count, Visit visit) const {
    Value value;
    for (std::uint64_t i = 0; i < count && Load(offset, value); ++i) {
      visit(value);
      offset += sizeof value;
    }
  }

  // Each section of this type, with its section of strings.
  template <typename Visit>
  void ForEachSection(std::uint32_t type, Visit visit) const {
    ForEach<Elf64_Shdr>(header_.e_shoff, header_.e_shnum, [&](const Elf64_Shdr& section) {
      Elf64_Shdr strings;
      if (section.sh_type != type || section.sh_link >= header_.e_shnum) return;
      if (!Load(header_.e_shoff + std::uint64_t{section.sh_link} * sizeof strings, strings)) return;
      visit(section, strings);
    });
  }

  std::string_view Text(const Elf64_Shdr& strings, std::uint64_t offset) const {
    if (offset >= strings.sh_size || strings.sh_offset > bytes_.size()) return {};
    if (bytes_.size() - strings.sh_offset < strings.sh_size) return {};
    const std::string_view all(bytes_.data() + strings.sh_offset, strings.sh_size);
    const std::string_view rest = all.substr(offset);
    return rest.substr(0, rest.find('\0'));
  }

  std::string bytes_;
  Elf64_Ehdr header_{};
  bool valid_ = false;
};

absl::Status Refuse(const std::string& file, const char* why) {
  return absl::FailedPreconditionError(absl::StrCat(file, " ", why));
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& word, const std::string& path) {
  std::vector<std::string> candidates;
  if (word.find('/') != std::string::npos) {
    candidates = {word};
  } else {
    for (const std::string& folder : std::vector<std::string>(absl::StrSplit(path, ':'))) {
      candidates.push_back(absl::StrCat(folder.empty() ? "." : folder, "/", word));
    }
  }
  bool seen = false;
  for (const std::string& candidate : candidates) {
    struct stat found {};
    if (stat(candidate.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    seen = true;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  if (seen) return absl::PermissionDeniedError(absl::StrCat(word, ": not executable"));
  return absl::NotFoundError(absl::StrCat(word, ": no such program"));
}

absl::Status CheckProgram(const std::string& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return Refuse(file, "cannot be read");
  const bool other_user = (found.st_mode & S_ISUID) != 0 && found.st_uid != geteuid();
  const bool other_group = (found.st_mode & S_ISGID) != 0 && found.st_gid != getegid();
  if (other_user || other_group || getxattr(file.c_str(), "security.capability", nullptr, 0) > 0) {
    return Refuse(file,
                  "runs with other rights than yours (set-user-ID or capabilities), so the system "
                  "lets no library in front of it: run a copy without them");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::OkStatus();  // it can be run, not read: nothing is known of it
  std::string bytes(static_cast<std::size_t>(found.st_size), '\0');
  stream.read(bytes.data(), found.st_size);
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  const ElfFile program(std::move(bytes));
  if (!program.valid()) return absl::OkStatus();
  if (!program.HasInterpreter()) {
    return Refuse(file, "is linked statically: no library can be put in front of its own");
  }
  if (program.Defines("fi_getinfo") && !program.Needs("libibverbs.so.1")) {
    return Refuse(file,
                  "holds a libfabric of its own that does not ask for libibverbs.so.1: link it "
                  "with libfabric.so.1");
  }
  return absl::OkStatus();
}

}  // namespace drydock::sim::verbs
