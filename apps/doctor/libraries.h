// Where a program of this system would find a shared library, and every other copy of it.

#ifndef DRYDOCK_APPS_DOCTOR_LIBRARIES_H_
#define DRYDOCK_APPS_DOCTOR_LIBRARIES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "drydock/apps/doctor/elf_library.h"
#include "drydock/apps/doctor/system_files.h"
#include "drydock/apps/doctor/version.h"

namespace drydock::apps::doctor {

struct LibraryCopy {
  std::string path;     // as it was found: /opt/amazon/efa/lib/libfabric.so.1
  std::string file;     // with links followed
  std::string through;  // why it was found: "LD_LIBRARY_PATH", "ld.so.conf", "the default folders"
  bool by_loader = false;  // the loader looks there; otherwise only we do
  std::string problem;     // why it could not be read; empty: `elf` holds
  ElfLibrary elf;
  std::optional<Version> version;  // of the release, where a file tells
};

// All copies of `name` (libfabric.so.1), each file once, in the order of the loader: the first with
// `by_loader` is what it takes for a program that has no path of its own. `library_path` is the
// value of LD_LIBRARY_PATH; relative folders in it, which mean another place to each program, are
// left out. Behind them: the folders of the EFA installer.
std::vector<LibraryCopy> FindLibrary(const SystemFiles& files, absl::string_view library_path,
                                     absl::string_view name);

// The first release of libfabric with the fabric efa-direct, and of rdma-core whose provider `efa`
// writes by RDMA: library_checks.cc says where these come from.
inline constexpr Version kFirstWithEfaDirect{2, 1, 0};
inline constexpr Version kFirstWithRdmaWrite{46, 0, 0};

// The first with `by_loader`; null if there is none.
const LibraryCopy* LoadedCopy(const std::vector<LibraryCopy>& copies);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_LIBRARIES_H_
