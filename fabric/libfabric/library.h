// The functions that libfabric exports, of the library that is loaded when one of them is first
// needed.
//
// No program links it: that of Debian and Ubuntu brings PSM, whose constructors sleep for 0.2 s and
// take the signals of every program that starts, also of one that only simulates. The others of
// libfabric's functions are inline ones over tables inside its objects.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_LIBRARY_H_
#define DRYDOCK_FABRIC_LIBFABRIC_LIBRARY_H_

#include <rdma/fabric.h>

#include "absl/status/statusor.h"

namespace drydock::fabric::libfabric {

struct Library {
  decltype(&::fi_version) version;
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_fabric) fabric;
  decltype(&::fi_strerror) strerror;
  decltype(&::fi_tostr) tostr;
};

// libfabric.so.1, by the search of dlopen(3): LD_LIBRARY_PATH, the folder that this was built with,
// the system's. It stays loaded, and takes no signals (kept_signals.h). kFailedPrecondition, with one line: there is none, or it is older
// than the headers that this was built with. Static storage; thread-safe.
const absl::StatusOr<Library>& InstalledLibrary();

// Reads a library's exports. For tests: `file` is another one than libfabric.so.1.
absl::StatusOr<Library> LoadLibrary(const char* file);

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_LIBRARY_H_
