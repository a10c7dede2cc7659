#include "drydock/apps/affinity/report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/plot.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/gpu/topology/cpu_list.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::affinity {
namespace {

using gpu::topology::FormatCpuList;
using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

// Differences below this share of the figure are not worth a word.
constexpr double kWorthAWord = 0.03;

double Microseconds(coro::Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

const PolicyResult* Find(const Report& report, Policy policy) {
  for (const PolicyResult& result : report.policies) {
    if (result.policy == policy) return &result;
  }
  return nullptr;
}

// Of a value to the near one; absent where near was not run.
std::optional<double> Share(double value, std::optional<double> near) {
  if (!near.has_value() || *near <= 0) return std::nullopt;
  return value / *near;
}

std::string Percent(std::optional<double> share) {
  return share.has_value() ? absl::StrFormat("%.0f %%", 100 * *share) : "-";
}

std::string NodeText(int node) { return node == kAnywhere ? "any" : absl::StrCat(node); }

std::string CpusText(const Seat& seat) {
  return seat.cpus.empty() ? "any" : FormatCpuList(seat.cpus);
}

// What the same NIC came to under the near policy.
std::optional<double> NearGbps(const Report& report, std::size_t seat) {
  const PolicyResult* near = Find(report, Policy::kNear);
  if (near == nullptr) return std::nullopt;
  return Gbps(report.load, near->seats[seat].pages_took);
}

std::optional<double> NearTotal(const Report& report) {
  const PolicyResult* near = Find(report, Policy::kNear);
  if (near == nullptr) return std::nullopt;
  return TotalGbps(report, *near);
}

// ---- Text ----

// A value that may be lacking.
Cell PercentCell(std::optional<double> share) {
  return share.has_value() ? Cell{Percent(share), *share} : NoCell();
}

ResultTable Seats(const Report& report) {
  ResultTable table("affinity", report.simulated ? Origin::kSimulated : Origin::kMeasured,
                    {{"policy"},
                     {"NIC", "nic"},
                     {"NUMA node", "numa_node"},
                     {"CPUs", "cpus"},
                     {"thread on", "thread_node"},
                     {"memory on", "memory_node"},
                     {"Gbit/s", "gbps", "Gbit/s"},
                     {"of near", "share_of_near"},
                     {"us/write", "us_per_write", "us"}});
  for (const PolicyResult& result : report.policies) {
    for (std::size_t i = 0; i < result.seats.size(); ++i) {
      const SeatResult& one = result.seats[i];
      const double gbps = Gbps(report.load, one.pages_took);
      table.AddRow({TextCell(std::string(NameOf(result.policy))), TextCell(one.seat.name),
                    Cell{one.seat.nic_node == kAnywhere ? "?" : absl::StrCat(one.seat.nic_node),
                         std::int64_t{one.seat.nic_node}},
                    Cell{CpusText(one.seat), FormatCpuList(one.seat.cpus)},
                    Cell{NodeText(one.seat.thread_node), std::int64_t{one.seat.thread_node}},
                    Cell{NodeText(one.seat.memory_node), std::int64_t{one.seat.memory_node}},
                    NumberCell(gbps, 1), PercentCell(Share(gbps, NearGbps(report, i))),
                    NumberCell(Microseconds(one.write_took), 2)});
    }
  }
  return table;
}

std::string Totals(const Report& report) {
  Rows rows = {{"policy", "all NICs, Gbit/s", "of near", "us/write"}};
  for (const PolicyResult& result : report.policies) {
    const double total = TotalGbps(report, result);
    rows.push_back({std::string(NameOf(result.policy)), absl::StrFormat("%.1f", total),
                    Percent(Share(total, NearTotal(report))),
                    absl::StrFormat("%.2f", MicrosecondsPerWrite(result))});
  }
  return FormatTable(rows);
}

// "far has 49 % of near's rate and 0.35 us more per write".
std::string Compared(const Report& report, const PolicyResult& near, const PolicyResult& other) {
  const std::optional<double> share = Share(TotalGbps(report, other), TotalGbps(report, near));
  const double more = MicrosecondsPerWrite(other) - MicrosecondsPerWrite(near);
  std::string text = absl::StrCat(std::string(NameOf(other.policy)), " has ");
  if (!share.has_value()) {
    absl::StrAppend(&text, "a rate that near's is too quick to compare with");
  } else if (std::abs(*share - 1) < kWorthAWord) {
    absl::StrAppend(&text, "near's rate");
  } else {
    absl::StrAppendFormat(&text, "%.0f %% of near's rate", 100 * *share);
  }
  absl::StrAppendFormat(&text, " and %.2f us %s per write", std::abs(more),
                        more < 0 ? "less" : "more");
  return text;
}

std::string Line(absl::string_view label, absl::string_view text) {
  return absl::StrFormat("%-9s %s\n", label, text);
}

// ---- JSON ----

Json OrNull(std::optional<double> value) { return value.has_value() ? Json(*value) : Json(); }

Json SeatJson(const Report& report, const SeatResult& one, std::size_t i) {
  const double gbps = Gbps(report.load, one.pages_took);
  return {{"nic", one.seat.name},
          {"numa_node", one.seat.nic_node},
          {"cpus", FormatCpuList(one.seat.cpus)},
          {"thread_node", one.seat.thread_node},
          {"memory_node", one.seat.memory_node},
          {"gbps", gbps},
          {"share_of_near", OrNull(Share(gbps, NearGbps(report, i)))},
          {"us_per_write", Microseconds(one.write_took)}};
}

}  // namespace

double TotalGbps(const Report& report, const PolicyResult& result) {
  double sum = 0;
  for (const SeatResult& one : result.seats) sum += Gbps(report.load, one.pages_took);
  return sum;
}

double MicrosecondsPerWrite(const PolicyResult& result) {
  double sum = 0;
  for (const SeatResult& one : result.seats) sum += Microseconds(one.write_took);
  return result.seats.empty() ? 0 : sum / static_cast<double>(result.seats.size());
}

std::string Meaning(const Report& report) {
  const PolicyResult* near = Find(report, Policy::kNear);
  if (near == nullptr || report.policies.size() < 2) {
    return "one policy alone says nothing about the others: leave out --policy";
  }
  std::vector<std::string> parts;
  for (const PolicyResult& result : report.policies) {
    if (result.policy != Policy::kNear) parts.push_back(Compared(report, *near, result));
  }
  std::string text = absl::StrJoin(parts, "; ");
  if (report.simulated) {
    absl::StrAppend(&text, " (simulated: figures of profile ", report.profile, ", not measured)");
  } else {
    absl::StrAppend(&text, " (measured here, once)");
  }
  return text;
}

std::string FormatText(const Report& report) {
  const Load& load = report.load;
  const std::size_t nics = report.policies.empty() ? 0 : report.policies.front().seats.size();
  std::string text = Line("fabric", report.fabric);
  absl::StrAppend(&text,
                  Line("machine", absl::StrCat(FormatCount(report.numa_nodes, "NUMA node"), ", ",
                                               FormatCount(report.nics, "NIC"), "; ", nics,
                                               nics == 1 ? " is used" : " are used, all at once")));
  absl::StrAppend(
      &text,
      Line("Gbit/s", absl::StrCat("each writes ", FormatCount(load.pages, "page"), " of ",
                                  FormatBytes(load.page_bytes), ", ", load.window, " under way")));
  absl::StrAppend(&text, Line("us/write", absl::StrCat("mean of ", FormatCount(load.small, "write"),
                                                       " of 4 KiB, one after the other")));
  if (report.simulated && report.link_gbytes_per_s > 0) {
    absl::StrAppend(&text,
                    Line("link", absl::StrFormat("%.0f GB/s from one NUMA node to the other, each "
                                                 "way, for all that crosses",
                                                 report.link_gbytes_per_s)));
  }
  if (!report.note.empty()) absl::StrAppend(&text, Line("note", report.note));
  absl::StrAppend(&text, "\n", ToAlignedRows(Seats(report)), "\n", Totals(report), "\n",
                  Line("means", Meaning(report)));
  return text;
}

std::string FormatCsv(const Report& report) { return ToCsv(Seats(report)); }

std::string ToSvg(const Report& report) {
  std::vector<std::string> labels;
  std::vector<BarSeries> rates;
  std::vector<BarSeries> times;
  for (const PolicyResult& result : report.policies) {
    const std::string name(NameOf(result.policy));
    BarSeries& rate = rates.emplace_back(BarSeries{name, {}});
    BarSeries& time = times.emplace_back(BarSeries{name, {}});
    for (const SeatResult& one : result.seats) {
      rate.values.push_back(Gbps(report.load, one.pages_took));
      time.values.push_back(Microseconds(one.write_took));
    }
    if (!labels.empty()) continue;
    for (const SeatResult& one : result.seats) labels.push_back(one.seat.name);
  }
  const std::string kind(NameOf(report.simulated ? Origin::kSimulated : Origin::kMeasured));
  const std::vector<std::string> charts = {
      DrawBars({absl::StrCat("affinity: ", report.fabric), kind, "NIC", "Gbit/s"}, labels, rates),
      DrawBars({"affinity: a small write, alone", kind, "NIC", "us"}, labels, times)};
  return StackCharts(charts);
}

std::string FormatJson(const Report& report) {
  Json policies = Json::array();
  for (const PolicyResult& result : report.policies) {
    Json seats = Json::array();
    for (std::size_t i = 0; i < result.seats.size(); ++i) {
      seats.push_back(SeatJson(report, result.seats[i], i));
    }
    const double total = TotalGbps(report, result);
    policies.push_back({{"policy", std::string(NameOf(result.policy))},
                        {"gbps", total},
                        {"share_of_near", OrNull(Share(total, NearTotal(report)))},
                        {"us_per_write", MicrosecondsPerWrite(result)},
                        {"nics", std::move(seats)}});
  }
  const Json json = {{"simulated", report.simulated},
                     {"fabric", report.fabric},
                     {"profile", report.profile},
                     {"numa_nodes", report.numa_nodes},
                     {"numa_link_gbytes_per_s", report.link_gbytes_per_s},
                     {"page_bytes", report.load.page_bytes},
                     {"window", report.load.window},
                     {"pages", report.load.pages},
                     {"note", report.note},
                     {"policies", std::move(policies)},
                     {"meaning", Meaning(report)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace drydock::apps::affinity
