#include "apps/write/console.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/common/command_line.h"
#include "apps/common/report/result_json.h"
#include "apps/common/report/result_table.h"
#include "apps/common/units.h"

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

ResultTable ResultOf(const TransferReport& transfer, const Scene& scene) {
  const bool simulated = scene.seed.has_value();
  std::vector<Column> columns = {{"fabric"}, {"nic"},         {"simulated"}, {"correct"},
                                 {"pages"},  {"wrong_pages"}, {"bytes"},     {"nanoseconds"}};
  if (simulated) columns.emplace_back("seed");
  ResultTable table("write", simulated ? Origin::kSimulated : Origin::kMeasured,
                    std::move(columns));
  const Verification& verification = transfer.verification;
  std::size_t wrong = 0;
  for (const auto& of_region : verification.wrong_pages) wrong += of_region.size();
  std::vector<Cell> row = {TextCell(scene.fabric),
                           TextCell(scene.nic),
                           YesCell(simulated),
                           YesCell(verification.correct()),
                           CountCell(verification.pages),
                           CountCell(wrong),
                           CountCell(transfer.bytes),
                           SignedCell(transfer.elapsed.count())};
  if (simulated) row.push_back(CountCell(*scene.seed));
  table.AddRow(std::move(row));
  return table;
}

// The same, with the wrong pages of each region.
std::string JsonOf(const TransferReport& transfer, const Scene& scene) {
  nlohmann::ordered_json json = RowsJson(ResultOf(transfer, scene))[0];
  json["wrong_pages"] = transfer.verification.wrong_pages;
  return json.dump();
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
  if (options_.form != OutputForm::kText) return;
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
  if (options_.form != OutputForm::kText) return;
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
  switch (options_.form) {
    case OutputForm::kText:
      Print(out_, Describe(verification));
      break;
    case OutputForm::kJson:
      Print(out_, JsonOf(transfer, scene));
      break;
    case OutputForm::kCsv:
      out_ << ToCsv(ResultOf(transfer, scene)) << std::flush;
  }
  return verification.correct() ? kExitOk : kExitFailed;
}

}  // namespace apps::write
