// The symbol versions that a shared library defines and needs, read from its file without loading
// it.

#ifndef DRYDOCK_APPS_DOCTOR_ELF_LIBRARY_H_
#define DRYDOCK_APPS_DOCTOR_ELF_LIBRARY_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::apps::doctor {

// A version of symbols that a library asks of another: EFA_1.4 of libefa.so.1.
struct VersionNeed {
  std::string library;
  std::string version;
  bool weak = false;  // the loader accepts its absence

  bool operator==(const VersionNeed&) const = default;
};

struct ElfLibrary {
  std::string name;                        // DT_SONAME: libefa.so.1
  std::vector<std::string> needs;          // DT_NEEDED
  std::set<std::string> versions;          // that it defines
  std::vector<VersionNeed> version_needs;  // that it asks for
  std::set<std::string> symbols;           // that it defines, for others to use
};

// `bytes` is the whole file, from any source: every offset is checked, and tables that lead out of
// the file end there. kInvalidArgument, in a few words: no ELF file of 64 bits in little-endian
// order, or no shared library.
absl::StatusOr<ElfLibrary> ReadElfLibrary(absl::string_view bytes);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_ELF_LIBRARY_H_
