#include "drydock/apps/common/session/transfer_report.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/report/result_json.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/units.h"

namespace drydock::apps {
namespace {

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

int Report(Console& console, const TransferReport& transfer, const Scene& scene) {
  const Verification& verification = transfer.verification;
  std::string text =
      absl::StrCat(FormatCount(verification.pages, "page"), ", ", FormatBytes(transfer.bytes),
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

}  // namespace drydock::apps
