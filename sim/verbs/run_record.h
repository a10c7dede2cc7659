// The record of a run that a process in virtual time shares with its starter: first which faults
// happen and which operations are calm, then the results. A file without a name that both map, so
// that a process that dies leaves its results so far.

#ifndef DRYDOCK_SIM_VERBS_RUN_RECORD_H_
#define DRYDOCK_SIM_VERBS_RUN_RECORD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/memory/zeroed_array.h"
#include "drydock/sim/world/run_trace.h"

namespace drydock::sim::verbs {

// A text of at most so many bytes, cut where it is longer.
template <std::size_t kBytes>
struct ShortText {
  void Set(absl::string_view text) {
    bytes = {};
    text.copy(bytes.data(), bytes.size() - 1);
  }
  // Also of bytes that Set did not write.
  std::string Get() const {
    const absl::string_view all(bytes.data(), bytes.size());
    return std::string(all.substr(0, all.find('\0')));
  }
  std::array<char, kBytes> bytes;
};

// Zero bytes are an empty record.
struct RunRecord {
  static constexpr std::size_t kMostLibraries = 128;

  // --- Restrictions: numbers count on over all worlds of the process, and are sorted ---
  bool restricts_firings;    // to those that are listed
  bool restricts_disturbed;  // the operations that are not calm
  std::uint64_t firing_count;
  std::uint64_t disturbed_count;
  std::array<fabric::faults::FiringId, RunTrace::kMostFirings> firings;
  std::array<std::uint64_t, RunTrace::kMostOperations> disturbed;

  // --- Results: of the process's last program that has opened it ---
  bool is_open;
  bool ended;           // by itself: the digest is of all that happened
  ShortText<64> check;  // the first rule that it broke; where nothing else made it fail
  ShortText<256> hang;  // why it would have waited for ever
  Digest digest;
  std::uint64_t events;
  std::uint64_t library_count;
  std::array<ShortText<256>, kMostLibraries> libraries;  // paths of those that it had loaded
  RunTrace trace;
};
static_assert(std::is_trivially_copyable_v<RunRecord>);

// The starter's view of the record.
class RunRecordFile {
 public:
  // kInvalidArgument: more firings or operations than fit. kUnavailable: no memory, no descriptor.
  static absl::StatusOr<std::unique_ptr<RunRecordFile>> Create(
      const std::optional<std::vector<fabric::faults::FiringId>>& firings,
      const std::optional<std::vector<std::uint64_t>>& disturbed);
  ~RunRecordFile();
  RunRecordFile(const RunRecordFile&) = delete;
  RunRecordFile& operator=(const RunRecordFile&) = delete;

  // See KeptThroughExec.
  absl::StatusOr<std::string> KeptThroughExec() const;
  // As it is at the first call, when the process is over: one that it has left behind may go on
  // writing. The program may have written anywhere: a trace that makes no sense is empty, and a
  // check that is no word is none. `rules`: how many its plan has.
  const RunRecord& Read(std::size_t rules);

 private:
  RunRecordFile(int file, RunRecord* record) : file_(file), record_(record) {}

  const int file_;
  RunRecord* const record_;      // that the process writes
  ZeroedArray<RunRecord> read_;  // one, if it was read
};

// In the process that is to become a program: leaves it a copy of an open descriptor, and returns
// the path by which it opens that. A path in the starter's /proc would take the right to trace the
// starter, which no program in a user namespace of its own has. All paths have one length: a path is
// memory in a program that is to find its own at the same place in every run.
//
// kUnavailable: no descriptor is free.
absl::StatusOr<std::string> KeptThroughExec(int descriptor);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_RUN_RECORD_H_
