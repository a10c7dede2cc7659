#include "apps/write/console.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/common/command_line.h"
#include "apps/common/units.h"
#include "nlohmann/json.hpp"

namespace apps::write {
namespace {

// Page numbers that a line shows; the rest is counted.
constexpr std::size_t kShownPages = 16;

std::string DescribePages(const std::vector<std::uint32_t>& pages) {
  const std::size_t shown = std::min(pages.size(), kShownPages);
  std::string text =
      absl::StrJoin(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
  if (shown < pages.size()) absl::StrAppend(&text, " and ", pages.size() - shown, " more");
  return text;
}

}  // namespace

Console::Console(std::ostream& out, std::ostream& err, const coro::Clock& clock,
                 const ConsoleOptions& options)
    : out_(out), err_(err), clock_(clock), options_(options) {}

void Console::Print(std::ostream& stream, absl::string_view line) {
  if (progress_.has_value()) progress_->Hide();
  stream << std::string(line) << std::endl;
}

void Console::Say(absl::string_view label, absl::string_view text) {
  if (options_.json) return;
  Print(out_, absl::StrFormat("%-9s %s", label, text));
}

Log Console::log() {
  return [this](Severity severity, absl::string_view label, absl::string_view text) {
    if (severity == Severity::kProblem)
      return Print(err_, absl::StrCat(options_.program, ": ", text));
    if (severity == Severity::kDetail && !options_.verbose) return;
    Say(label, text);
  };
}

void Console::SayFabric(const fabric::Fabric& fabric, const fabric::NicInfo& nic,
                        absl::string_view reason) {
  std::string text =
      absl::StrCat(absl::string_view(fabric.description().data(), fabric.description().size()),
                   ", NIC ", nic.name);
  if (nic.link_gbps > 0) absl::StrAppend(&text, ", ", nic.link_gbps, " Gbit/s");
  if (!reason.empty()) absl::StrAppend(&text, " (auto: ", reason, ")");
  Say("fabric", text);
}

void Console::SayRequest(const RandomFillMessage& request, std::uint64_t region_bytes) {
  Say("request", absl::StrFormat("%u pages of %s into each of %u regions of %s, data seed %#x, "
                                 "remote context %#x, completion %s",
                                 request.page_indices.size(), FormatBytes(request.page_bytes),
                                 kRegionCount, FormatBytes(region_bytes), request.data_seed,
                                 request.remote_context, NameOf(request.completion)));
  Say("pages", absl::StrCat(DescribePages(request.page_indices), " (a region has ",
                            region_bytes / request.page_bytes, ")"));
}

void Console::BeginProgress(const RandomFillMessage& request) {
  const bool count = request.completion == CompletionMode::kCount;
  what_ = count ? "writes" : "announcements";
  if (options_.json) return;
  progress_.emplace(Work{what_, ExpectedAnnouncements(request), count ? request.page_bytes : 0},
                    clock_);
}

void Console::ShowProgress(const Arrival& arrival) {
  const std::uint64_t quarters = 4 * arrival.arrived / arrival.expected;
  if (quarters > quarters_) {
    quarters_ = quarters;
    Say("progress", absl::StrCat(100 * arrival.arrived / arrival.expected, "%: ", arrival.arrived,
                                 " of ", arrival.expected, " ", what_, " after ",
                                 FormatDuration(arrival.since_request)));
  }
  if (progress_.has_value()) progress_->Update(arrival.arrived);
}

int Console::Report(const TransferReport& transfer, const Scene& scene) {
  const Verification& verification = transfer.verification;
  std::string text = absl::StrCat(verification.pages, " pages, ", FormatBytes(transfer.bytes),
                                  " in ", FormatDuration(transfer.elapsed));
  const std::string rate = FormatRate(transfer.bytes, transfer.elapsed);
  if (!rate.empty()) absl::StrAppend(&text, ", ", rate);
  if (scene.seed.has_value()) absl::StrAppend(&text, ", simulated time");
  Say("received", text);
  if (options_.json) {
    nlohmann::json json = {{"fabric", scene.fabric},
                           {"nic", scene.nic},
                           {"simulated", scene.seed.has_value()},
                           {"correct", verification.correct()},
                           {"pages", verification.pages},
                           {"wrong_pages", verification.wrong_pages},
                           {"bytes", transfer.bytes},
                           {"nanoseconds", transfer.elapsed.count()}};
    if (scene.seed.has_value()) json["seed"] = *scene.seed;
    Print(out_, json.dump());
  } else {
    Print(out_, Describe(verification));
  }
  return verification.correct() ? kExitOk : kExitFailed;
}

}  // namespace apps::write
