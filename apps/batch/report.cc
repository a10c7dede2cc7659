#include "drydock/apps/batch/report.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/csv.h"
#include "drydock/apps/common/plot.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::batch {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string Rate(double gbps) { return absl::StrFormat("%.1f", gbps); }
std::string Percent(double share) { return absl::StrFormat("%.1f %%", share * 100); }
double Mpps(double gbps, const Load& load) {
  return gbps * 1e3 / 8 / static_cast<double>(load.page_bytes);
}
double Seconds(coro::Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string BarOf(double share) {
  std::string bar;
  for (int i = 0; i < static_cast<int>(std::clamp(share, 0.0, 1.0) * 20 + 0.5); ++i) bar += "█";
  return bar;
}

// ---- One run ----

double Total(const Report& report) { return Gbps(report.load.total_bytes(), report.result.took); }
double LineOf(const Report& report) {
  return report.line_gbps * static_cast<double>(report.load.nics());
}
double GbpsOf(const Report& report, const NicResult& nic) {
  return Gbps(nic.bytes, report.result.took);
}
const char* TimeOf(const Report& report) {
  return report.simulated ? "simulated time" : "measured";
}

std::string Beginning(const Report& report) {
  const Load& load = report.load;
  std::string text = absl::StrFormat(
      "fabric     %s\n"
      "load       %s, %s each; %s pages, %d for each NIC; window %d, bursts of %d; %s\n",
      report.where, FormatCount(load.gpus, "GPU"), FormatCount(load.nics_per_gpu, "NIC"),
      FormatBytes(load.page_bytes), load.pages, load.window, load.burst,
      std::string(fabric::async::transfer::Name(load.policy)));
  absl::StrAppendFormat(&text, "threads    %d, %s%s%s\n", load.threads,
                        load.pin ? "pinned" : "not pinned",
                        load.sharded ? "" : ", with shared state",
                        load.lazy ? "" : ", looking for completions in every post");
  if (!load.warm_up) text += "warm-up    none: connections are made on the way\n";
  return text;
}

std::string Table(const Report& report) {
  double most = 0;
  for (const NicResult& nic : report.result.nics) most = std::max(most, GbpsOf(report, nic));
  const double scale = report.line_gbps > 0 ? report.line_gbps : most;
  Rows rows = {{"NIC", "pages", "Gbit/s", "of line", "doorbells", ""}};
  for (const NicResult& nic : report.result.nics) {
    const double gbps = GbpsOf(report, nic);
    rows.push_back({nic.alive ? nic.name : absl::StrCat(nic.name, " (dead)"),
                    absl::StrCat(nic.bytes / report.load.page_bytes), Rate(gbps),
                    report.line_gbps > 0 ? Percent(gbps / report.line_gbps) : "-",
                    absl::StrCat(nic.doorbells), scale > 0 ? BarOf(gbps / scale) : ""});
  }
  return FormatTable(rows);
}

std::string Text(const Report& report) {
  const double gbps = Total(report);
  const double line = LineOf(report);
  std::string text = absl::StrCat(Beginning(report), "\n", Table(report), "\n");
  absl::StrAppendFormat(&text, "moved      %s in %s: %.1f Gbit/s%s, %.3f Mpps, %s\n",
                        FormatBytes(report.load.total_bytes()), FormatDuration(report.result.took),
                        gbps,
                        line > 0 ? absl::StrFormat(" (%s of line rate)", Percent(gbps / line)) : "",
                        Mpps(gbps, report.load), TimeOf(report));
  if (const std::optional<double> steady = SteadyGbps(report.load, report.result)) {
    absl::StrAppendFormat(
        &text, "steady     %.1f Gbit/s%s, between the first quarter and the last tenth\n", *steady,
        line > 0 ? absl::StrFormat(" (%s)", Percent(*steady / line)) : "");
  }
  if (report.result.reissued > 0) {
    absl::StrAppend(&text, "again      ", FormatCount(report.result.reissued, "page"),
                    ", after a NIC failed\n");
  }
  text += report.result.correct ? "Data is correct\n" : "Data is WRONG\n";
  return text;
}

Json ToJson(const Load& load) {
  return {{"gpus", load.gpus},
          {"nics_per_gpu", load.nics_per_gpu},
          {"page_bytes", load.page_bytes},
          {"pages_per_nic", load.pages},
          {"window", load.window},
          {"burst", load.burst},
          {"policy", std::string(fabric::async::transfer::Name(load.policy))},
          {"threads", load.threads},
          {"pinned", load.pin},
          {"sharded_state", load.sharded},
          {"lazy", load.lazy},
          {"warm_up", load.warm_up}};
}

std::string ToJson(const Report& report) {
  const BatchResult& result = report.result;
  Json json = {{"fabric", report.where},
               {"simulated", report.simulated},
               {"load", ToJson(report.load)},
               {"seconds", Seconds(result.took)},
               {"bytes", report.load.total_bytes()},
               {"gbps", Total(report)},
               {"mpps", Mpps(Total(report), report.load)}};
  if (const std::optional<double> steady = SteadyGbps(report.load, result)) {
    json["steady_gbps"] = *steady;
  }
  if (LineOf(report) > 0) json["share_of_line_rate"] = Total(report) / LineOf(report);
  json["reissued_pages"] = result.reissued;
  json["duplicate_announcements"] = result.duplicates;
  json["correct"] = result.correct;
  for (const NicResult& nic : result.nics) {
    json["nics"].push_back({{"name", nic.name},
                            {"bytes", nic.bytes},
                            {"gbps", GbpsOf(report, nic)},
                            {"doorbells", nic.doorbells},
                            {"refused_posts", nic.refused_posts},
                            {"alive", nic.alive}});
  }
  return json.dump(report.one_line ? -1 : 2) + "\n";
}

// One line a sample: the whole and each NIC.
std::string ToCsv(const Report& report) {
  std::vector<std::string> heading = {"seconds", "bytes"};
  for (const NicResult& nic : report.result.nics) heading.push_back(nic.name);
  Rows rows = {heading};
  for (const Sample& sample : report.result.samples) {
    std::uint64_t all = 0;
    for (const std::uint64_t bytes : sample.bytes) all += bytes;
    rows.push_back({absl::StrFormat("%.9f", Seconds(sample.at)), absl::StrCat(all)});
    for (const std::uint64_t bytes : sample.bytes) rows.back().push_back(absl::StrCat(bytes));
  }
  return FormatCsv(rows);
}

// ---- The staircase ----

std::string Deviation(double figure, double published) {
  return absl::StrFormat("%+.1f %%", (figure / published - 1) * 100);
}

std::string StepTable(const std::vector<Step>& steps) {
  Rows rows = {{"step", "threads", "burst", "simulated Gbit/s", "of line", "Mpps",
                "published Gbit/s", "deviation", "predicted Gbit/s"}};
  for (const Step& step : steps) {
    rows.push_back({step.name, absl::StrCat(step.load.threads), absl::StrCat(step.load.burst),
                    Rate(step.gbps), Percent(step.gbps / step.line_gbps),
                    absl::StrFormat("%.3f", Mpps(step.gbps, step.load)), Rate(step.published_gbps),
                    Deviation(step.gbps, step.published_gbps), Rate(step.predicted_gbps)});
  }
  return FormatTable(rows);
}

Json ToJson(const Step& step) {
  return {{"step", step.name},
          {"load", ToJson(step.load)},
          {"simulated_gbps", step.gbps},
          {"predicted_gbps", step.predicted_gbps},
          {"published_gbps", step.published_gbps},
          {"source", step.source},
          {"share_of_line_rate", step.gbps / step.line_gbps},
          {"deviation", step.gbps / step.published_gbps - 1}};
}

std::string ToJson(const StepReport& report) {
  Json json = {{"fabric", report.where}, {"simulated", true}};
  for (const Step& step : report.steps) json["steps"].push_back(ToJson(step));
  return json.dump(2) + "\n";
}

std::string ToCsv(const StepReport& report) {
  Rows rows = {{"step", "simulated_gbps", "predicted_gbps", "published_gbps", "source"}};
  for (const Step& step : report.steps) {
    rows.push_back({step.name, Rate(step.gbps), Rate(step.predicted_gbps),
                    Rate(step.published_gbps), step.source});
  }
  return FormatCsv(rows);
}

std::string Text(const StepReport& report) {
  return absl::StrCat(
      "fabric     ", report.where, "\nfigures    simulated, extended to the ",
      "32,000,000 pages of the published runs: the rate of the steady state, and the time that\n",
      "           connections take where they are not made before\n\n", StepTable(report.steps),
      "\nsource     abcdabcd987/libfabric-efa-demo, programs 9 to 15\n");
}

template <typename Any>
std::string InForm(const Any& report, OutputForm form) {
  switch (form) {
    case OutputForm::kJson:
      return ToJson(report);
    case OutputForm::kCsv:
      return ToCsv(report);
    case OutputForm::kText:
      break;
  }
  return Text(report);
}

}  // namespace

std::string Render(const Report& report, OutputForm form) { return InForm(report, form); }
std::string Render(const StepReport& report, OutputForm form) { return InForm(report, form); }

// Both pictures, one below the other: the rate of each NIC, and of all over time.
std::string ToSvg(const Report& report) {
  std::vector<std::string> names;
  BarSeries bars{.name = "Gbit/s", .values = {}};
  for (const NicResult& nic : report.result.nics) {
    names.push_back(nic.name);
    bars.values.push_back(GbpsOf(report, nic));
  }
  const std::string kind = absl::StrCat(report.where, ", ", TimeOf(report));
  const ChartText by_nic{
      .title = "Throughput of each NIC", .subtitle = kind, .x_label = "NIC", .y_label = "Gbit/s"};
  LineSeries line{.name = "all NICs", .points = {}};
  constexpr std::size_t kBuckets = 40;
  const auto& samples = report.result.samples;
  const std::size_t step = std::max<std::size_t>(samples.size() / kBuckets, 1);
  std::uint64_t before = 0;
  coro::Duration at{};
  for (std::size_t i = step - 1; i < samples.size(); i += step) {
    std::uint64_t all = 0;
    for (const std::uint64_t bytes : samples[i].bytes) all += bytes;
    line.points.push_back({.x = Seconds(samples[i].at) * 1e3,
                           .y = Gbps(all - before, samples[i].at - at),
                           .label = absl::StrFormat("%.3g", Seconds(samples[i].at) * 1e3)});
    before = all;
    at = samples[i].at;
  }
  const ChartText over_time{
      .title = "Throughput over time", .subtitle = kind, .x_label = "ms", .y_label = "Gbit/s"};
  const std::vector<BarSeries> all_bars = {bars};
  const std::vector<LineSeries> lines = {line};
  const std::vector<std::string> charts = {DrawBars(by_nic, names, all_bars),
                                           DrawLines(over_time, lines, false)};
  return StackCharts(charts);
}

std::string ToSvg(const StepReport& report) {
  std::vector<std::string> names;
  std::vector<BarSeries> bars = {{"published", {}}, {"simulated", {}}, {"predicted", {}}};
  for (const Step& step : report.steps) {
    names.push_back(step.name);
    bars[0].values.push_back(step.published_gbps);
    bars[1].values.push_back(step.gbps);
    bars[2].values.push_back(step.predicted_gbps);
  }
  const ChartText text{.title = "Step by step to the full rate",
                       .subtitle = report.where,
                       .x_label = "",
                       .y_label = "Gbit/s"};
  return DrawBars(text, names, bars);
}

}  // namespace drydock::apps::batch
