#include "drydock/apps/efa_run/recorded_run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/efa_run/say.h"
#include "drydock/apps/efa_run/start.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/virtual_time/virtual_time.h"

namespace drydock::apps {
namespace {

using sim::explore::RunSpec;
using sim::explore::SeedResult;
using sim::explore::TracedRun;
using sim::explore::Verdict;
using sim::verbs::EndedRun;
using sim::verbs::RunRecord;

constexpr char kUnfinished[] = "it was not over when patience with it was (--patience)";

// A file without a name that holds `text`.
absl::StatusOr<int> FileOf(const std::string& text) {
  const int file = memfd_create("drydock-plan", MFD_CLOEXEC);
  std::size_t done = 0;
  while (file >= 0 && done < text.size()) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  if (file >= 0 && done == text.size()) return file;
  const int error = errno;
  if (file >= 0) close(file);
  return absl::UnavailableError(absl::StrCat("a file for the plan: ", std::strerror(error)));
}

// Bytes of a program or a library that anybody would run.
constexpr std::uint64_t kLargestProgram = std::uint64_t{4} << 30;

// FNV-1a: against an accident, not against an attacker. Empty: it cannot be read, or it is no plain
// file: a name that a program has written may be that of one without an end.
std::string HashOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::uint64_t left = std::filesystem::file_size(path, error);  // of some in /proc it is 0
  if (error || left > kLargestProgram) return "";
  std::ifstream file(path, std::ios::binary);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  std::array<char, 1 << 16> bytes;
  while (left > 0) {
    file.read(bytes.data(),
              static_cast<std::streamsize>(std::min<std::uint64_t>(left, bytes.size())));
    if (file.gcount() == 0) return "";
    left -= static_cast<std::uint64_t>(file.gcount());
    for (const char byte : std::span(bytes.data(), static_cast<std::size_t>(file.gcount()))) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ull;
    }
  }
  return absl::StrFormat("%016x", hash);
}

void SetOrUnset(const char* variable, const std::string& value) {
  if (value.empty()) {
    unsetenv(variable);
  } else {
    setenv(variable, value.c_str(), 1);
  }
}

SeedResult Judge(const EndedRun& ended, const RunRecord& record) {
  SeedResult result;
  result.digest = record.ended ? record.digest : sim::Digest();
  result.events = record.ended ? record.events : record.trace.event_count;
  if (!ended.in_time) {
    result.events = 0;  // how far it came is the machine's affair
    result.verdict = Verdict::kHang;
    result.text = kUnfinished;
  } else if (const std::string why = record.hang.Get();
             !why.empty() && ended.status == sim::VirtualTime::kHangs) {
    result.verdict = Verdict::kHang;
    result.text = why;
  } else if (ended.signal != 0) {
    result.verdict = Verdict::kCrash;
    result.text =
        absl::StrCat("ended by signal ", ended.signal, " (", strsignal(ended.signal), ")");
  } else if (record.ended && !record.check.Get().empty()) {
    result.verdict = Verdict::kFinding;
    result.check = record.check.Get();
    result.text = absl::StrCat("it breaks the rule ", result.check);
  } else if (ended.status != 0) {
    result.verdict = Verdict::kCrash;
    result.text = absl::StrCat("ended with exit status ", ended.status);
  }
  return result;
}

}  // namespace

absl::StatusOr<std::shared_ptr<RecordedRun>> RecordedRun::Prepare(const RunSpec& spec) {
  ASSIGN_OR_RETURN(auto record, sim::verbs::RunRecordFile::Create(spec.firings, spec.disturbed));
  int plan = -1;
  if (!spec.plan.rules.empty()) {
    ASSIGN_OR_RETURN(plan, FileOf(fabric::faults::FormatFaultPlan(spec.plan)));
  }
  return std::shared_ptr<RecordedRun>(new RecordedRun(spec, std::move(record), plan));
}

RecordedRun::~RecordedRun() {
  if (plan_ >= 0) close(plan_);
}

sim::verbs::Process RecordedRun::ProcessOf(const std::shared_ptr<RecordedRun>& run,
                                           const Request& request) {
  return [run, &request] {
    Say(run->Become(request).message());
    return 2;
  };
}

absl::Status RecordedRun::Become(const Request& request) const {
  Request own = request;
  own.settings.seed = spec_.seed;
  own.settings.faults.clear();
  if (plan_ >= 0) {
    ASSIGN_OR_RETURN(own.settings.faults, sim::verbs::KeptThroughExec(plan_));
  }
  ASSIGN_OR_RETURN(const std::string record, record_->KeptThroughExec());
  setenv(sim::verbs::kSeedVariable, absl::StrCat(own.settings.seed).c_str(), 1);
  SetOrUnset(sim::verbs::kFaultsVariable, own.settings.faults);
  setenv(sim::verbs::kRecordVariable, record.c_str(), 1);
  return Start(own);
}

TracedRun RecordedRun::ResultOf(const std::shared_ptr<RecordedRun>& run, const EndedRun& ended) {
  const RunRecord& record = run->Read();
  SeedResult result = Judge(ended, record);
  result.seed = run->spec_.seed;
  return {std::move(result), std::shared_ptr<const sim::RunTrace>(run, &record.trace)};
}

std::map<std::string, std::string> RecordedRun::FilesOf(const Request& request) const {
  std::map<std::string, std::string> files;
  const absl::StatusOr<std::string> program = FindOnPath(request.program[0]);
  if (program.ok()) files["program"] = HashOf(*program);
  const RunRecord& record = Read();
  for (std::size_t i = 0; i < record.library_count; ++i) {
    const std::string path = record.libraries[i].Get();
    files[path.substr(path.rfind('/') + 1)] = HashOf(path);
  }
  return files;
}

bool IsUnfinished(const SeedResult& result) {
  return result.verdict == Verdict::kHang && result.text == kUnfinished;
}

std::string KindOf(const EndedRun& ended, const SeedResult& result) {
  if (IsUnfinished(result)) return "unfinished";
  if (result.verdict == Verdict::kHang) return "hang";
  if (result.verdict == Verdict::kFinding) return result.check;
  if (ended.signal != 0) return absl::StrCat("signal-", ended.signal);
  return absl::StrCat("exit-", ended.status);
}

std::string HowItEnded(const SeedResult& result) {
  if (result.verdict == Verdict::kCrash) return result.text;
  if (result.verdict == Verdict::kCorrect) return "ended with exit status 0";
  return absl::StrCat(std::string(Name(result.verdict)), ": ", result.text);
}

}  // namespace drydock::apps
