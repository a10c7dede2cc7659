#include "drydock/sim/verbs/run_record.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::sim::verbs {
namespace {

template <typename Value, std::size_t kMost>
absl::Status Fill(const char* what, const std::optional<std::vector<Value>>& values,
                  bool& restricts, std::uint64_t& count, std::array<Value, kMost>& places) {
  if (!values.has_value()) return absl::OkStatus();
  if (values->size() > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat(values->size(), " ", what, ": a process is told of at most ", kMost));
  }
  restricts = true;
  count = values->size();
  std::sort(places.begin(), std::copy(values->begin(), values->end(), places.begin()));
  return absl::OkStatus();
}

// Whether all numbers are such as a Tracer writes.
bool MakesSense(const RunTrace& trace, std::size_t rules) {
  const auto known = static_cast<std::ptrdiff_t>(
      std::min<std::uint64_t>(trace.firing_count, RunTrace::kMostFirings));
  return trace.mark_count <= RunTrace::kMostMarks &&
         std::all_of(trace.firings.begin(), trace.firings.begin() + known,
                     [&](const FiringEntry& entry) { return entry.id.rule < rules; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunRecordFile>> RunRecordFile::Create(
    const std::optional<std::vector<fabric::faults::FiringId>>& firings,
    const std::optional<std::vector<std::uint64_t>>& wild) {
  const int file = memfd_create("drydock-run", MFD_CLOEXEC);
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, sizeof(RunRecord)) == 0) {
    memory = mmap(nullptr, sizeof(RunRecord), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (memory == MAP_FAILED) {
    const int error = errno;
    if (file >= 0) close(file);
    return absl::UnavailableError(absl::StrCat("the record of a run: ", std::strerror(error)));
  }
  auto* const record = static_cast<RunRecord*>(memory);
  InitTrace(&record->trace);
  std::unique_ptr<RunRecordFile> made(new RunRecordFile(file, record));
  absl::Status status =
      Fill("firings", firings, record->restricts_firings, record->firing_count, record->firings);
  status.Update(Fill("operations that are not calm", wild, record->restricts_wild,
                     record->wild_count, record->wild));
  if (!status.ok()) return status;
  return made;
}

RunRecordFile::~RunRecordFile() {
  munmap(record_, sizeof(RunRecord));
  close(file_);
}

std::string RunRecordFile::path() const { return PathOfDescriptor(file_); }

const RunRecord& RunRecordFile::Read(std::size_t rules) {
  if (!MakesSense(record_->trace, rules)) {
    record_->trace.mark_count = 0;
    record_->trace.firing_count = 0;
    record_->trace.operation_count = 0;
  }
  record_->library_count =
      std::min<std::uint64_t>(record_->library_count, RunRecord::kMostLibraries);
  return *record_;
}

std::string PathOfDescriptor(int descriptor) {
  constexpr std::size_t kBytes = 40;
  const std::string process = absl::StrCat("/", getpid());
  const std::string file = absl::StrCat("/fd/", descriptor);
  // Slashes in a row are one.
  return absl::StrCat("/proc", std::string(kBytes - process.size() - file.size(), '/'), process,
                      file);
}

}  // namespace drydock::sim::verbs
