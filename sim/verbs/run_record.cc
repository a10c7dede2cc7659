#include "drydock/sim/verbs/run_record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/time.h"

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

// A byte that the program has overwritten may be neither true nor false.
bool IsBool(const bool& place) {
  unsigned char byte = 0;
  std::memcpy(&byte, &place, 1);
  return byte <= 1;
}

bool IsTime(coro::Duration time) { return time.count() >= 0; }

bool MakesSense(const FiringEntry& entry, std::size_t rules) {
  return entry.id.rule < rules && IsTime(entry.time) && IsBool(entry.has_operation) &&
         IsBool(entry.has_peer);
}

bool MakesSense(const OperationEntry& entry) {
  return IsBool(entry.has_immediate) && IsBool(entry.landed) && IsTime(entry.fetched) &&
         IsTime(entry.landing);
}

template <typename Entry, std::size_t kMost>
std::span<const Entry> Known(const std::array<Entry, kMost>& entries, std::uint64_t count) {
  return {entries.data(), static_cast<std::size_t>(std::min<std::uint64_t>(count, kMost))};
}

// Whether everything is such as a Tracer writes. Kinds may be any: they have names.
bool MakesSense(const RunTrace& trace, std::size_t rules) {
  const auto marks = Known(trace.marks, trace.mark_count);
  const auto firings = Known(trace.firings, trace.firing_count);
  const auto operations = Known(trace.operations, trace.operation_count);
  return trace.mark_count == marks.size() &&
         std::adjacent_find(marks.begin(), marks.end(),
                            [](const Mark& one, const Mark& next) {
                              return one.events >= next.events;
                            }) == marks.end() &&
         std::all_of(firings.begin(), firings.end(),
                     [&](const FiringEntry& entry) { return MakesSense(entry, rules); }) &&
         std::all_of(operations.begin(), operations.end(),
                     [](const OperationEntry& entry) { return MakesSense(entry); }) &&
         std::all_of(trace.last_events.begin(), trace.last_events.end(),
                     [](const LoggedEvent& event) { return IsTime(event.time); });
}

template <typename Entry, std::size_t kMost>
void CopyKnown(const std::array<Entry, kMost>& from, std::uint64_t count,
               std::array<Entry, kMost>& to) {
  std::memcpy(&to, &from, Known(from, count).size_bytes());
}

// To a record of zeros, which has memory only for written pages. The counts are the copy's: those
// of `from` may be others by now.
void CopyKnown(const RunRecord& from, RunRecord& to) {
  const auto copy = [&](const auto& first, const auto& end) {
    const auto* const begins = reinterpret_cast<const std::byte*>(&first);
    const std::ptrdiff_t offset = begins - reinterpret_cast<const std::byte*>(&from);
    std::memcpy(reinterpret_cast<std::byte*>(&to) + offset, begins,
                static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&end) - begins));
  };
  copy(from, from.firings);
  copy(from.is_open, from.trace.firings);
  CopyKnown(from.firings, to.firing_count, to.firings);
  CopyKnown(from.disturbed, to.disturbed_count, to.disturbed);
  CopyKnown(from.trace.firings, to.trace.firing_count, to.trace.firings);
  CopyKnown(from.trace.operations, to.trace.operation_count, to.trace.operations);
}

void Terminate(RunTrace& trace) {
  for (ShortName& nic : trace.nics) nic.back() = '\0';
  const auto known = std::min<std::uint64_t>(trace.firing_count, RunTrace::kMostFirings);
  for (std::uint64_t i = 0; i < known; ++i) trace.firings[i].nic.back() = '\0';
}

// A check is part of a file's name.
bool IsWord(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return (letter >= 'a' && letter <= 'z') || letter == '-'; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunRecordFile>> RunRecordFile::Create(
    const std::optional<std::vector<fabric::faults::FiringId>>& firings,
    const std::optional<std::vector<std::uint64_t>>& disturbed) {
  const int file = memfd_create("drydock-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void* memory = MAP_FAILED;
  // A program that made it shorter would end the process that reads it.
  if (file >= 0 && ftruncate(file, sizeof(RunRecord)) == 0 &&
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0) {
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
  status.Update(Fill("operations that are not calm", disturbed, record->restricts_disturbed,
                     record->disturbed_count, record->disturbed));
  if (!status.ok()) return status;
  return made;
}

RunRecordFile::~RunRecordFile() {
  munmap(record_, sizeof(RunRecord));
  close(file_);
}

absl::StatusOr<std::string> RunRecordFile::KeptThroughExec() const {
  return verbs::KeptThroughExec(file_);
}

const RunRecord& RunRecordFile::Read(std::size_t rules) {
  if (read_.data() != nullptr) return read_[0];
  read_ = ZeroedArray<RunRecord>(1);
  RunRecord& record = read_[0];
  CopyKnown(*record_, record);
  RunTrace& trace = record.trace;
  if (!MakesSense(trace, rules)) {
    trace.mark_count = trace.firing_count = trace.operation_count = trace.event_count = 0;
  }
  Terminate(trace);
  if (!IsBool(record.ended)) record.ended = false;
  if (!IsWord(record.check.Get())) record.check.Set("");
  record.library_count = std::min<std::uint64_t>(record.library_count, RunRecord::kMostLibraries);
  return record;
}

absl::StatusOr<std::string> KeptThroughExec(int descriptor) {
  constexpr int kOutOfTheirWay = 100;  // the limit on open files may be below that
  int kept = fcntl(descriptor, F_DUPFD, kOutOfTheirWay);
  if (kept < 0) kept = fcntl(descriptor, F_DUPFD, 3);
  if (kept < 0) {
    return absl::UnavailableError(
        absl::StrCat("a descriptor for the record of a run: ", std::strerror(errno)));
  }
  constexpr std::size_t kBytes = 40;
  const std::string file = absl::StrCat("/self/fd/", kept);
  // Slashes in a row are one.
  return absl::StrCat("/proc", std::string(kBytes - file.size(), '/'), file);
}

}  // namespace drydock::sim::verbs
