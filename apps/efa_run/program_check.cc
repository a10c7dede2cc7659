#include "drydock/apps/efa_run/program_check.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/elf_file.h"

namespace drydock::apps {
namespace {

bool HasInterpreter(ElfFile& file) {
  bool found = false;
  file.ForEachSegment(
      [&](const Elf64_Phdr& segment) { found = found || segment.p_type == PT_INTERP; });
  return found;
}

bool Needs(ElfFile& file, absl::string_view library) {
  bool found = false;
  file.ForEachSection([&](const Elf64_Shdr& section, const Elf64_Shdr& strings) {
    if (section.sh_type != SHT_DYNAMIC) return;
    file.ForEachEntry<Elf64_Dyn>(section, [&](const Elf64_Dyn& entry) {
      found =
          found || (entry.d_tag == DT_NEEDED && file.Text(strings, entry.d_un.d_val) == library);
    });
  });
  return found;
}

bool Defines(ElfFile& file, absl::string_view function) {
  bool found = false;
  file.ForEachSection([&](const Elf64_Shdr& section, const Elf64_Shdr& strings) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) return;
    file.ForEachEntry<Elf64_Sym>(section, [&](const Elf64_Sym& symbol) {
      found =
          found || (symbol.st_shndx != SHN_UNDEF && file.Text(strings, symbol.st_name) == function);
    });
  });
  return found;
}

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
  absl::StatusOr<ElfFile> program = ElfFile::Open(bytes);
  if (!program.ok()) return absl::OkStatus();
  if (!HasInterpreter(*program)) {
    return Refuse(file, "is linked statically: no library can be put in front of its own");
  }
  if (Defines(*program, "fi_getinfo") && !Needs(*program, "libibverbs.so.1")) {
    return Refuse(file,
                  "holds a libfabric of its own that does not ask for libibverbs.so.1: link it "
                  "with libfabric.so.1");
  }
  return absl::OkStatus();
}

}  // namespace drydock::apps
