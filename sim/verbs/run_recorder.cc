#include "drydock/sim/verbs/run_recorder.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::sim::verbs {
namespace {

// Far from the kernel's usual places, so that the program's own memory lies as it does without us.
void* const kPlace = reinterpret_cast<void*>(0x1000'0000'0000);

void* Map(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return MAP_FAILED;
  if (status.st_size != sizeof(RunRecord)) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  constexpr int kBoth = PROT_READ | PROT_WRITE;
  void* const there =
      mmap(kPlace, sizeof(RunRecord), kBoth, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
  if (there != MAP_FAILED) return there;
  return mmap(nullptr, sizeof(RunRecord), kBoth, MAP_SHARED, file, 0);
}

// Set once; of a process and its forked children.
RunRecord* of_process = nullptr;

// Runs in a forked child. The record is its parent's, so the child gets an empty one, never read.
void LeaveRecord() {
  constexpr int kOwn = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  void* const own = mmap(of_process, sizeof(RunRecord), PROT_READ | PROT_WRITE, kOwn, -1, 0);
  if (own != MAP_FAILED) InitTrace(&of_process->trace);
}

// Clears the results that this process wrote before it called exec.
void Forget(RunRecord& record) {
  auto* const first = reinterpret_cast<char*>(&record.is_open);
  auto* const end = reinterpret_cast<char*>(&record + 1);
  std::memset(first, 0, static_cast<std::size_t>(end - first));
  InitTrace(&record.trace);
}

// Limits the count to the array, because the program may have overwritten it.
template <typename Value, std::size_t kMost>
std::span<const Value> Listed(const std::array<Value, kMost>& places, std::uint64_t count) {
  return {places.data(), static_cast<std::size_t>(std::min<std::uint64_t>(count, kMost))};
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunRecorder>> RunRecorder::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* const memory = file < 0 ? MAP_FAILED : Map(file);
  const int error = errno;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) {
    return absl::UnavailableError(
        absl::StrCat("the record of the run, ", path, ": ", std::strerror(error)));
  }
  // Mapped as long as the process lives.
  of_process = static_cast<RunRecord*>(memory);
  if (of_process->is_open) Forget(*of_process);
  of_process->is_open = true;
  pthread_atfork(nullptr, nullptr, &LeaveRecord);
  std::unique_ptr<RunRecorder> recorder(new RunRecorder(*of_process));
  recorder->NoteLibraries();
  return recorder;
}

void RunRecorder::NoteLibraries() {
  record_.library_count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* into) {
        auto& record = *static_cast<RunRecord*>(into);
        const absl::string_view path = library->dlpi_name;  // the program's own is empty
        if (path.find('/') == absl::string_view::npos) return 0;
        if (record.library_count == RunRecord::kMostLibraries) return 1;
        record.libraries[record.library_count++].Set(path);
        return 0;
      },
      &record_);
}

void RunRecorder::Begin(World& world, fabric::faults::FaultEngine* faults, coro::Duration began) {
  Leave();  // a world that was never closed
  // Read where they are mapped: the heap is the program's, and addresses in it must not depend on
  // the lists.
  if (record_.restricts_firings && faults != nullptr) {
    faults->Restrict(Listed(record_.firings, record_.firing_count), tracer_.eligible_before());
  }
  if (record_.restricts_disturbed) {
    world.wire().UseUndisturbed(Undisturbed::AllBut(
        Listed(record_.disturbed, record_.disturbed_count), tracer_.operations_before()));
  }
  tracer_.Begin(world, faults, began);
}

void RunRecorder::Leave() {
  if (tracer_.is_tracing()) tracer_.End();
}

void RunRecorder::Hangs(absl::string_view why) { record_.hang.Set(why); }

void RunRecorder::End(const Digest& digest, std::uint64_t events, absl::string_view check) {
  record_.check.Set(check);
  record_.digest = digest;
  record_.events = events;
  record_.ended = true;
}

}  // namespace drydock::sim::verbs
