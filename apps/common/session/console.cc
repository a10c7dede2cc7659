#include "drydock/apps/common/session/console.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/units.h"

namespace drydock::apps {

Console::Console(std::ostream& out, std::ostream& err, const coro::Clock& clock,
                 const ConsoleOptions& options)
    : out_(out), err_(err), clock_(clock), options_(options) {}

void Console::Print(std::ostream& stream, absl::string_view line) {
  if (progress_.has_value()) progress_->Hide();
  stream << std::string(line) << std::endl;
}

void Console::Say(absl::string_view label, absl::string_view text) {
  if (options_.form != OutputForm::kText) return;
  Print(out_, absl::StrFormat("%-9s %s", label, text));
}

Log Console::log() {
  return [this](Severity severity, absl::string_view label, absl::string_view text) {
    if (severity == Severity::kProblem) {
      return Print(err_, absl::StrCat(options_.program, ": ", text));
    }
    if (severity == Severity::kDetail && !options_.verbose) return;
    Say(label, text);
  };
}

void Console::SayFabric(absl::string_view fabric, const fabric::NicInfo& nic,
                        absl::string_view reason) {
  std::string text = absl::StrCat(fabric, ", NIC ", nic.name);
  if (nic.link_gbps > 0) absl::StrAppend(&text, ", ", nic.link_gbps, " Gbit/s");
  if (!reason.empty()) absl::StrAppend(&text, " (auto: ", reason, ")");
  Say("fabric", text);
}

void Console::BeginProgress(const Work& work) {
  work_ = work;
  quarters_ = 0;
  if (options_.form == OutputForm::kText) progress_.emplace(work, clock_);
}

void Console::ShowProgress(std::uint64_t done, coro::Duration since_begin) {
  const std::uint64_t quarters = 4 * done / work_.total;
  if (quarters > quarters_) {
    quarters_ = quarters;
    Say("progress", absl::StrCat(100 * done / work_.total, "%: ", done, " of ", work_.total, " ",
                                 work_.what, " after ", FormatDuration(since_begin)));
  }
  if (progress_.has_value()) progress_->Update(done);
}

void Console::PrintResult(absl::string_view text) {
  if (progress_.has_value()) progress_->Hide();
  out_ << std::string(text) << std::flush;
}

}  // namespace drydock::apps
