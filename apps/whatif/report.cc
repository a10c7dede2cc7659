#include "drydock/apps/whatif/report.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/csv.h"
#include "drydock/apps/common/plot.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::whatif {
namespace {

using Json = nlohmann::ordered_json;
using sim::model::Bound;
using sim::model::Prediction;
using sim::model::PublishedFigure;
using sim::model::Workload;
using Rows = std::vector<std::vector<std::string>>;

constexpr const char* kKind = "predicted";

std::string Gbps(double gbps) { return absl::StrFormat("%.1f", gbps); }
std::string Mops(double operations) { return absl::StrFormat("%.3f", operations / 1e6); }
std::string Percent(double share) { return absl::StrFormat("%.1f %%", share * 100); }
std::string Signed(double share) { return absl::StrFormat("%+.1f %%", share * 100); }
std::string Limiter(const Prediction& prediction) { return std::string(Name(prediction.limiter)); }

double GbpsOf(const Bound& bound, const Workload& workload) {
  return bound.operations_per_s * static_cast<double>(workload.page_bytes) * 8 / 1e9;
}

const char* Heading(Sweep sweep) {
  switch (sweep) {
    case Sweep::kNics:
      return "NICs";
    case Sweep::kThreads:
      return "threads";
    case Sweep::kWindow:
      return "window";
    default:
      return "page";
  }
}

std::string Beginning(const sim::Profile& profile) {
  return absl::StrCat("profile    ", profile.name, " (", profile.description,
                      "): both machines\nfigures    predicted from the profile, not measured\n");
}

// ---- One question ----

std::string Table(const Answer& answer) {
  Rows rows = {{Heading(answer.question.sweep), "predicted Gbit/s", "of line", "predicted Mop/s",
                "latency", "CPU per page", "limiter", "next limiter"}};
  // Of one workload, Total says it.
  const bool ends =
      answer.question.sweep != Sweep::kNone && answer.question.workloads.front().operations > 0;
  if (ends) rows[0].insert(rows[0].end(), {"all pages", "over that time"});
  for (std::size_t i = 0; i < answer.predictions.size(); ++i) {
    const Prediction& prediction = answer.predictions[i];
    const Workload& workload = answer.question.workloads[i];
    const Bound& next = prediction.bounds[1];
    rows.push_back(
        {Label(workload, answer.question.sweep), Gbps(prediction.gbps),
         Percent(prediction.share_of_line), Mops(prediction.operations_per_s),
         FormatDuration(prediction.latency), FormatDuration(prediction.post_cost),
         Limiter(prediction),
         absl::StrCat(std::string(Name(next.limiter)), " at ", Gbps(GbpsOf(next, workload)))});
    if (!ends) continue;
    rows.back().push_back(FormatDuration(prediction.total));
    rows.back().push_back(absl::StrCat(Gbps(prediction.overall_gbps), " Gbit/s"));
  }
  return FormatTable(rows);
}

// Of one workload, what each stage would let through.
std::string Stages(const Answer& answer) {
  const Workload& workload = answer.question.workloads.front();
  Rows rows = {{"stage", "would allow Gbit/s", "Mop/s"}};
  for (const Bound& bound : answer.predictions.front().bounds) {
    rows.push_back({std::string(Name(bound.limiter)), Gbps(GbpsOf(bound, workload)),
                    Mops(bound.operations_per_s)});
  }
  return absl::StrCat("\n", FormatTable(rows));
}

std::string Total(const Workload& workload, const Prediction& prediction) {
  if (workload.operations == 0) return "";
  return absl::StrCat("\ntotal      ", FormatCount(workload.operations, "page"),
                      workload.operations == 1 ? " takes " : " take ",
                      FormatDuration(prediction.total), ", ", Gbps(prediction.overall_gbps),
                      " Gbit/s; first contact takes ", FormatDuration(prediction.contact_time),
                      " of it (predicted)\n");
}

std::string Text(const Answer& answer) {
  std::string text = Beginning(*answer.question.profile);
  absl::StrAppend(&text, "workload   ", Describe(answer.question), "\n\n", Table(answer));
  if (answer.question.sweep != Sweep::kNone) return text;
  absl::StrAppend(&text, Stages(answer),
                  Total(answer.question.workloads.front(), answer.predictions.front()));
  return text;
}

Json ToJson(const Workload& workload, const Prediction& prediction) {
  Json bounds = Json::object();
  for (const Bound& bound : prediction.bounds) {
    const std::string name(Name(bound.limiter));
    if (!bounds.contains(name)) bounds[name] = GbpsOf(bound, workload);
  }
  return {{"page_bytes", workload.page_bytes},
          {"nics", workload.nics},
          {"gpus", workload.gpus},
          {"threads", workload.threads},
          {"pollers", workload.pollers},
          {"window", workload.window},
          {"burst", workload.burst},
          {"policy", std::string(Name(workload.policy))},
          {"predicted_gbps", prediction.gbps},
          {"predicted_mops", prediction.operations_per_s / 1e6},
          {"predicted_share_of_line", prediction.share_of_line},
          {"predicted_latency_us", static_cast<double>(prediction.latency.count()) / 1e3},
          {"predicted_cpu_us", static_cast<double>(prediction.post_cost.count()) / 1e3},
          {"predicted_total_s", static_cast<double>(prediction.total.count()) / 1e9},
          {"predicted_overall_gbps", prediction.overall_gbps},
          {"limiter", Limiter(prediction)},
          {"bounds_gbps", bounds}};
}

std::string JsonText(const Answer& answer) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < answer.predictions.size(); ++i) {
    rows.push_back(ToJson(answer.question.workloads[i], answer.predictions[i]));
  }
  const Json json = {{"kind", kKind},
                     {"profile", answer.question.profile->name},
                     {"sweep", std::string(Name(answer.question.sweep))},
                     {"rows", rows}};
  return absl::StrCat(json.dump(2), "\n");
}

std::string CsvText(const Answer& answer) {
  Rows rows = {{"profile", "page_bytes", "nics", "gpus", "threads", "window", "predicted_gbps",
                "predicted_mops", "predicted_share_of_line", "predicted_latency_us",
                "predicted_cpu_us", "limiter", "predicted_total_s", "predicted_overall_gbps"}};
  for (std::size_t i = 0; i < answer.predictions.size(); ++i) {
    const Workload& workload = answer.question.workloads[i];
    const Json row = ToJson(workload, answer.predictions[i]);
    std::vector<std::string> cells = {answer.question.profile->name};
    for (std::size_t c = 1; c < rows[0].size(); ++c) {
      const Json& cell = row[rows[0][c]];
      cells.push_back(cell.is_string() ? cell.get<std::string>() : cell.dump());
    }
    rows.push_back(std::move(cells));
  }
  return FormatCsv(rows);
}

std::string SvgText(const Answer& answer) {
  const Question& question = answer.question;
  if (question.sweep == Sweep::kNone) {
    BarSeries stages{"would allow", {}};
    std::vector<std::string> labels;
    for (const Bound& bound : answer.predictions.front().bounds) {
      labels.emplace_back(Name(bound.limiter));
      stages.values.push_back(GbpsOf(bound, question.workloads.front()));
    }
    return DrawBars({absl::StrCat(question.profile->name, ": ", Describe(question)), kKind,
                     "stage, the least is the limiter", "Gbit/s"},
                    labels, std::vector<BarSeries>{stages});
  }
  LineSeries rate{"predicted", {}};
  LineSeries line{"links", {}};
  for (std::size_t i = 0; i < answer.predictions.size(); ++i) {
    const Workload& workload = question.workloads[i];
    const double x = Value(workload, question.sweep);
    rate.points.push_back({x, answer.predictions[i].gbps, Label(workload, question.sweep)});
    line.points.push_back({x, question.profile->link_gbps * static_cast<double>(workload.nics),
                           rate.points[i].label});
  }
  return DrawLines({absl::StrCat(question.profile->name, ": ", Describe(question)), kKind,
                    Heading(question.sweep), "Gbit/s"},
                   std::vector<LineSeries>{rate, line}, true);
}

// ---- Beside what was published ----

std::string Text(const Comparison& comparison) {
  Rows rows = {
      {"step", "published Gbit/s", "predicted Gbit/s", "deviation", "use", "limiter", "source"}};
  std::map<absl::string_view, std::size_t> uses;
  for (const Comparison::Row& row : comparison.rows) {
    ++uses[row.verdict()];
    rows.push_back({row.published->name, Gbps(row.published->gbps),
                    Gbps(row.prediction.overall_gbps), Signed(row.deviation()), row.verdict(),
                    Limiter(row.prediction), row.published->source});
  }
  return absl::StrCat(Beginning(*comparison.profile), "\n", FormatTable(rows), "\n",
                      uses["checked"] + uses["missed"],
                      " figures were not fitted: ", uses["checked"], " are within ",
                      Percent(sim::model::kTolerance), ", ", uses["missed"], " missed\n");
}

std::string JsonText(const Comparison& comparison) {
  Json rows = Json::array();
  for (const Comparison::Row& row : comparison.rows) {
    rows.push_back({{"step", row.published->name},
                    {"published_gbps", row.published->gbps},
                    {"predicted_gbps", row.prediction.overall_gbps},
                    {"deviation", row.deviation()},
                    {"use", row.verdict()},
                    {"limiter", Limiter(row.prediction)},
                    {"source", row.published->source}});
  }
  const Json json = {{"kind", kKind}, {"profile", comparison.profile->name}, {"steps", rows}};
  return absl::StrCat(json.dump(2), "\n");
}

std::string CsvText(const Comparison& comparison) {
  Rows rows = {
      {"step", "published_gbps", "predicted_gbps", "deviation", "use", "limiter", "source"}};
  for (const Comparison::Row& row : comparison.rows) {
    rows.push_back({row.published->name, absl::StrCat(row.published->gbps),
                    absl::StrCat(row.prediction.overall_gbps), absl::StrCat(row.deviation()),
                    row.verdict(), Limiter(row.prediction), row.published->source});
  }
  return FormatCsv(rows);
}

std::string SvgText(const Comparison& comparison) {
  std::vector<std::string> labels;
  BarSeries published{"published", {}};
  BarSeries predicted{"predicted", {}};
  for (const Comparison::Row& row : comparison.rows) {
    labels.emplace_back(row.published->name);
    published.values.push_back(row.published->gbps);
    predicted.values.push_back(row.prediction.overall_gbps);
  }
  return DrawBars({absl::StrCat(comparison.profile->name, ": published and predicted"),
                   "published and predicted", "", "Gbit/s"},
                  labels, std::vector<BarSeries>{published, predicted});
}

template <typename What>
std::string InForm(const What& what, OutputForm form) {
  switch (form) {
    case OutputForm::kJson:
      return JsonText(what);
    case OutputForm::kCsv:
      return CsvText(what);
    case OutputForm::kText:
      break;
  }
  return Text(what);
}

}  // namespace

absl::StatusOr<Answer> Predict(Question question) {
  Answer answer;
  for (const Workload& workload : question.workloads) {
    ASSIGN_OR_RETURN(answer.predictions.emplace_back(),
                     sim::model::Predict(*question.profile, workload));
  }
  answer.question = std::move(question);
  return answer;
}

const char* Comparison::Row::verdict() const {
  if (published->fitted) return "fitted";
  return std::abs(deviation()) <= sim::model::kTolerance ? "checked" : "missed";
}

absl::StatusOr<Comparison> Compare(const sim::Profile& profile) {
  Comparison comparison{.profile = &profile, .rows = {}};
  std::set<std::string> others;
  for (const PublishedFigure& figure : sim::model::PublishedFigures()) {
    others.insert(figure.profile);
    if (profile.name != figure.profile) continue;
    ASSIGN_OR_RETURN(const Prediction prediction, sim::model::Predict(profile, figure.workload));
    comparison.rows.push_back({&figure, prediction});
  }
  if (comparison.rows.empty()) {
    return absl::NotFoundError(absl::StrCat("--steps: nothing is published of profile ",
                                            profile.name, "; there is something of ",
                                            absl::StrJoin(others, ", ")));
  }
  return comparison;
}

std::string Render(const Answer& answer, OutputForm form) { return InForm(answer, form); }
std::string ToSvg(const Answer& answer) { return SvgText(answer); }

std::string Render(const Comparison& comparison, OutputForm form) {
  return InForm(comparison, form);
}
std::string ToSvg(const Comparison& comparison) { return SvgText(comparison); }

}  // namespace drydock::apps::whatif
