#include "drydock/coro/untaken.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/event_loop.h"

namespace drydock::coro::internal {
namespace {

// Of one scope: a server's may live as long as the program.
constexpr std::size_t kMostTexts = 4;

// The same error, and what it carries, with `text` behind its own.
absl::Status WithText(const absl::Status& error, const std::string& text) {
  absl::Status longer(error.code(), absl::StrCat(error.message(), text));
  error.ForEachPayload(
      [&longer](absl::string_view key, const auto& payload) { longer.SetPayload(key, payload); });
  return longer;
}

std::string Words(const absl::Status& error) {
  return absl::StrCat(absl::StatusCodeToString(error.code()), ": ", error.message());
}

void Report(const std::string& who, const absl::Status& error) {
  EventLoop::ReportHere(absl::StrCat("no task took the error of ", who, ": ", Words(error), "\n"));
}

}  // namespace

void UntakenErrors::Add(const TaskPlace& task, const TaskPlace& spawned,
                        const absl::Status& error) {
  if (errors_ == nullptr) {
    errors_.reset(new Errors{task, spawned, error});
  } else if (errors_->texts == kMostTexts ||
             absl::StrContains(errors_->first.message(), error.message())) {
    ++errors_->more;
  } else {
    ++errors_->texts;
    errors_->first = WithText(errors_->first, absl::StrCat("; then: ", error.message()));
  }
}

absl::Status UntakenErrors::Take() {
  if (errors_ == nullptr) return absl::OkStatus();
  const std::unique_ptr<Errors> errors = std::move(errors_);
  if (errors->more == 0) return errors->first;
  return WithText(errors->first, absl::StrCat("; and ", errors->more, " more"));
}

void UntakenErrors::ReportAll() {
  const std::string who =
      absl::StrCat(Describe(errors_->task), ", spawned in ", Describe(errors_->spawned));
  Report(who, Take());
}

void ReportUntaken(const TaskRecord& task, const absl::Status& error) {
  Report(Describe(PlaceOf(task)), error);
}

}  // namespace drydock::coro::internal
