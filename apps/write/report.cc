#include "apps/write/report.h"

#include <algorithm>
#include <cstddef>
#include <string>
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

void SayRequest(Console& console, const RandomFillMessage& request, std::uint64_t region_bytes) {
  console.Say("request",
              absl::StrFormat("%u pages of %s into each of %u regions of %s, data seed %#x, "
                              "remote context %#x, completion %s",
                              request.page_indices.size(), FormatBytes(request.page_bytes),
                              kRegionCount, FormatBytes(region_bytes), request.data_seed,
                              request.remote_context, NameOf(request.completion)));
  console.Say("pages", absl::StrCat(DescribePages(request.page_indices), " (a region has ",
                                    region_bytes / request.page_bytes, ")"));
}

Work WorkOf(const RandomFillMessage& request) {
  const bool count = request.completion == CompletionMode::kCount;
  return {count ? "writes" : "announcements", ExpectedAnnouncements(request),
          count ? request.page_bytes : 0};
}

int Report(Console& console, const TransferReport& transfer, const Scene& scene) {
  const Verification& verification = transfer.verification;
  std::string text = absl::StrCat(verification.pages, " pages, ", FormatBytes(transfer.bytes),
                                  " in ", FormatDuration(transfer.elapsed));
  const std::string rate = FormatRate(transfer.bytes, transfer.elapsed);
  if (!rate.empty()) absl::StrAppend(&text, ", ", rate);
  if (scene.seed.has_value()) absl::StrAppend(&text, ", simulated time");
  console.Say("received", text);
  switch (console.form()) {
    case OutputForm::kText:
      console.PrintResult(Describe(verification) + "\n");
      break;
    case OutputForm::kJson:
      console.PrintResult(JsonOf(transfer, scene) + "\n");
      break;
    case OutputForm::kCsv:
      console.PrintResult(ToCsv(ResultOf(transfer, scene)));
  }
  return verification.correct() ? kExitOk : kExitFailed;
}

}  // namespace apps::write
