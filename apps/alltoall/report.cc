#include "drydock/apps/alltoall/report.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/report/result_table.h"

namespace drydock::apps::alltoall {
namespace {

Cell MeanUs(std::uint64_t sum_ns, std::uint32_t rounds) {
  return NumberCell(static_cast<double>(sum_ns) / 1000 / rounds, 1);
}

// Of what a rank sent, in the time of both ways.
Cell RateOf(const RankResult& result) {
  const std::uint64_t took = result.dispatch_ns + result.combine_ns;
  if (took == 0) return NoCell();
  return NumberCell(static_cast<double>(result.bytes) * 8 / static_cast<double>(took), 1);
}

ResultTable TableOf(const Results& results, std::uint32_t rounds, bool simulated) {
  ResultTable table("alltoall", simulated ? Origin::kSimulated : Origin::kMeasured,
                    {{"rank"},
                     {"tokens"},
                     {"rows out", "sent"},
                     {"rows in", "received"},
                     {"bytes", "bytes", "B"},
                     {"exchange us", "exchange_us", "us"},
                     {"barrier us", "barrier_us", "us"},
                     {"dispatch us", "dispatch_us", "us"},
                     {"combine us", "combine_us", "us"},
                     {"Gbit/s", "gbps", "Gbit/s"},
                     {"again", "reissued"},
                     {"dead NICs", "dead_nics"},
                     {"wrong"}});
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    const RankResult& one = results[rank];
    table.AddRow({CountCell(rank), CountCell(one.tokens), CountCell(one.sent),
                  CountCell(one.received), BytesCell(one.bytes), MeanUs(one.exchange_ns, rounds),
                  MeanUs(one.barrier_ns, rounds), MeanUs(one.dispatch_ns, rounds),
                  MeanUs(one.combine_ns, rounds), RateOf(one), CountCell(one.reissued),
                  CountCell(one.dead_nics), CountCell(one.wrong)});
  }
  table.AddNote(absl::StrCat("Times: of one round, the mean of ", rounds, "; ",
                             simulated ? "simulated." : "measured."));
  return table;
}

}  // namespace

int Report(Console& console, const Results& results, std::uint32_t rounds, const Scene& scene) {
  std::uint64_t wrong = 0;
  for (const RankResult& result : results) wrong += result.wrong;
  const ResultTable table = TableOf(results, rounds, scene.seed.has_value());
  switch (console.form()) {
    case OutputForm::kText:
      console.PrintResult(absl::StrCat(
          ToText(table), wrong == 0
                             ? "Data is correct\n"
                             : absl::StrCat("Data is WRONG: ", wrong, " words of the results\n")));
      break;
    case OutputForm::kJson:
      console.PrintResult(ToJson(table));
      break;
    case OutputForm::kCsv:
      console.PrintResult(ToCsv(table));
  }
  return wrong == 0 ? kExitOk : kExitFailed;
}

}  // namespace drydock::apps::alltoall
