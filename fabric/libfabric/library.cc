#include "drydock/fabric/libfabric/library.h"

#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/libfabric/kept_signals.h"

namespace drydock::fabric::libfabric {
namespace {

absl::Status Refuse(absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("libfabric cannot be used: ", why));
}

template <typename Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

std::string VersionText(std::uint32_t version) {
  return absl::StrCat(FI_MAJOR(version), ".", FI_MINOR(version));
}

}  // namespace

absl::StatusOr<Library> LoadLibrary(const char* file) {
  void* handle = nullptr;
  {
    const KeptSignals kept;
    handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    return Refuse(absl::StrCat(dlerror(),
                               "; Debian's package is libfabric1, on EC2 the EFA "
                               "installer has it"));
  }
  Library library{};
  const bool complete =
      Find(handle, "fi_version", library.version) && Find(handle, "fi_getinfo", library.getinfo) &&
      Find(handle, "fi_dupinfo", library.dupinfo) &&
      Find(handle, "fi_freeinfo", library.freeinfo) && Find(handle, "fi_fabric", library.fabric) &&
      Find(handle, "fi_strerror", library.strerror) && Find(handle, "fi_tostr", library.tostr);
  if (!complete) return Refuse(dlerror());
  // Structures only grow, at their ends: a newer library has all that the headers name.
  constexpr std::uint32_t kBuiltWith = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
  if (library.version() < kBuiltWith) {
    Dl_info found{};
    const bool named = dladdr(reinterpret_cast<void*>(library.version), &found) != 0;
    return Refuse(absl::StrCat(named ? found.dli_fname : file, " is ",
                               VersionText(library.version()), ", older than the ",
                               VersionText(kBuiltWith), " that this program was built with"));
  }
  return library;
}

const absl::StatusOr<Library>& InstalledLibrary() {
  // Never destroyed: objects of libfabric's may be closed at the program's very end.
  static const auto& library = *new absl::StatusOr<Library>(LoadLibrary("libfabric.so.1"));
  return library;
}

}  // namespace drydock::fabric::libfabric
