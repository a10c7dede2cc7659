// The parts of Abseil 20220623 that a shared library cannot take from Debian's archives.
//
// The archives are compiled for programs: three of their files reach thread-local variables at an offset that only a
// program knows when it is linked, one reaches `stderr` at an address. A linker takes a file out of an archive for what
// is still undefined, so the archives' files stay out where everything that they define is here. Whoever links one more of
// that kind is told so by the linker, and adds it here. (bazel/shared_library.bzl)

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/base/internal/sysinfo.h"
#include "absl/container/internal/raw_hash_set.h"
#include "absl/strings/internal/cordz_functions.h"

// ---- str_format's parser.cc: `stderr` in this library, with the program's stream in it ----

extern "C" {
struct _IO_FILE;
extern _IO_FILE _IO_2_1_stderr_;
extern _IO_FILE* own_stderr asm("stderr");
__attribute__((visibility("hidden"))) _IO_FILE* own_stderr = &_IO_2_1_stderr_;
}

namespace absl {
ABSL_NAMESPACE_BEGIN

// ---- raw_hash_set.cc: its seed counts the tables of a thread. Here all tables have the seed of their address only. ----

namespace container_internal {

alignas(16) ABSL_CONST_INIT const ctrl_t kEmptyGroup[16] = {
    ctrl_t::kSentinel, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty};

bool ShouldInsertBackwards(std::size_t hash, const ctrl_t* ctrl) { return H1(hash, ctrl) % 2 == 1; }

void ConvertDeletedToEmptyAndFullToDeleted(ctrl_t* ctrl, std::size_t capacity) {
  for (ctrl_t* at = ctrl; at < ctrl + capacity; at += Group::kWidth) {
    Group(at).ConvertSpecialToEmptyAndFullToDeleted(at);
  }
  std::memcpy(ctrl + capacity + 1, ctrl, NumClonedBytes());
  ctrl[capacity] = ctrl_t::kSentinel;
}

void HashTableSizeOverflow() { std::abort(); }

template FindInfo find_first_non_full(const ctrl_t*, std::size_t, std::size_t);

}  // namespace container_internal

// ---- cordz_functions.cc: it samples cords for a profiler. Here none is sampled. ----

namespace cord_internal {

ABSL_CONST_INIT thread_local std::int64_t cordz_next_sample = 0;

std::int32_t get_cordz_mean_interval() { return 0; }
void set_cordz_mean_interval(std::int32_t) {}
void cordz_set_next_sample_for_testing(std::int64_t) {}

bool cordz_should_profile_slow() {
  cordz_next_sample = std::numeric_limits<std::int64_t>::max();
  return false;
}

}  // namespace cord_internal

// ---- sysinfo.cc: it remembers a thread's number. Here the kernel is asked. ----

namespace base_internal {

pid_t GetTID() { return static_cast<pid_t>(syscall(SYS_gettid)); }
pid_t GetCachedTID() { return GetTID(); }
int NumCPUs() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }
double NominalCPUFrequency() { return 1.0; }  // unknown, in Abseil's words

}  // namespace base_internal
ABSL_NAMESPACE_END
}  // namespace absl
