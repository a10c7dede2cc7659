#include "drydock/apps/goal/report.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/report/result_json.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/units.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::goal {
namespace {

constexpr std::size_t kMostRows = 16;

ResultTable TableOf(const PlayResult& result) {
  ResultTable table("goal", Origin::kSimulated,
                    {{"ranks"},
                     {"operations"},
                     {"sent", "sent", "B"},
                     {"first ends", "first_ends", "ns"},
                     {"last ends", "last_ends", "ns"}});
  const std::size_t ranks = result.ranks.size();
  const std::size_t each = (ranks + kMostRows - 1) / kMostRows;
  for (std::size_t begin = 0; begin < ranks; begin += each) {
    const std::size_t end = std::min(begin + each, ranks);
    RankResult sum{.ended = result.ranks[begin].ended};
    coro::Duration last = sum.ended;
    for (std::size_t rank = begin; rank < end; ++rank) {
      const RankResult& one = result.ranks[rank];
      sum.operations += one.operations;
      sum.bytes += one.bytes;
      sum.ended = std::min(sum.ended, one.ended);
      last = std::max(last, one.ended);
    }
    table.AddRow({TextCell(each == 1 ? absl::StrCat(begin) : absl::StrCat(begin, "-", end - 1)),
                  CountCell(sum.operations), BytesCell(sum.bytes), DurationCell(sum.ended),
                  DurationCell(last)});
  }
  return table;
}

double PerSecond(double amount, const Scene& scene) {
  return scene.seconds > 0 ? amount / scene.seconds : 0;
}

double SimulatedSeconds(const PlayResult& result) {
  return static_cast<double>(result.simulated.count()) / 1e9;
}

std::string JsonOf(const PlayResult& result, const Scene& scene) {
  nlohmann::ordered_json out = {
      {"name", "goal"},
      {"origin", "simulated"},
      {"schedule", scene.source},
      {"profile", scene.profile},
      {"seed", scene.seed},
      {"machines", result.ranks.size()},
      {"nics", scene.nics},
      {"flows", scene.flows},
      {"simulated_ns", result.simulated.count()},
      {"unreceived", result.unreceived},
      {"events", result.events},
      {"processor_s", scene.seconds},
      {"events_per_s", PerSecond(static_cast<double>(result.events), scene)},
      {"simulated_s_per_s", PerSecond(SimulatedSeconds(result), scene)},
      {"peak_bytes", scene.peak_bytes}};
  out["rows"] = RowsJson(TableOf(result));
  return absl::StrCat(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                      "\n");
}

}  // namespace

std::string Report(const PlayResult& result, const Scene& scene, OutputForm form) {
  if (form == OutputForm::kJson) return JsonOf(result, scene);
  const ResultTable table = TableOf(result);
  if (form == OutputForm::kCsv) return ToCsv(table);
  std::string out = absl::StrCat(
      "goal      ", scene.source, "\nmachines  ", result.ranks.size(), " of ",
      FormatCount(scene.nics, "NIC"), ", simulated EFA (profile ", scene.profile, "), seed ",
      scene.seed, scene.flows ? ", long messages as flows" : "", "\nsimulated ",
      FormatDuration(result.simulated), ", ", FormatCount(result.events, "event"), "\n");
  if (result.unreceived > 0) {
    absl::StrAppend(&out, "left      ", FormatCount(result.unreceived, "message"),
                    " that nobody received\n");
  }
  absl::StrAppendFormat(
      &out,
      "speed     %.1f s of processor time: %.3g events and %.3g simulated seconds a second; %s\n\n",
      scene.seconds, PerSecond(static_cast<double>(result.events), scene),
      PerSecond(SimulatedSeconds(result), scene), FormatBytes(scene.peak_bytes));
  absl::StrAppend(&out, ToAlignedRows(table));
  return out;
}

}  // namespace drydock::apps::goal
