#include "drydock/apps/replay/report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::replay {
namespace {

using fabric::ErrorCode;
using fabric::OperationKind;
using nlohmann::json;
using sim::capture::Capture;
using sim::capture::Node;
using sim::capture::Operation;
using sim::capture::QueueVerdict;
using sim::capture::RegionVerdict;
using sim::capture::StatusVerdict;
using sim::capture::Steered;

// Lines of a kind that a person reads; a script gets all.
constexpr std::size_t kMostLines = 10;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// Operations of one kind of one machine.
struct Count {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t moved = 0;  // of these, by their initiators: a receive moves nothing
  std::uint64_t failed_there = 0;
  std::uint64_t failed_here = 0;
  std::uint64_t filled = 0;  // whose data the capture does not hold
};

std::map<OperationKind, Count> CountsOf(const Node& node,
                                        const sim::capture::ReplayRun::NodeRun& run) {
  std::map<OperationKind, Count> counts;
  for (std::size_t i = 0; i < node.operations.size(); ++i) {
    const Operation& operation = node.operations[i];
    const sim::capture::Outcome& outcome = run.outcomes[i];
    Count& count = counts[operation.kind];
    ++count.count;
    count.bytes += operation.bytes;
    if (operation.sends()) count.moved += operation.bytes;
    if (operation.status.value_or(ErrorCode::kOk) != ErrorCode::kOk) ++count.failed_there;
    const bool refused = outcome.posted != ErrorCode::kOk && outcome.posted != ErrorCode::kAgain;
    if (refused || outcome.status.value_or(ErrorCode::kOk) != ErrorCode::kOk) ++count.failed_here;
    if (operation.filled()) ++count.filled;
  }
  return counts;
}

std::uint64_t TotalOf(const Capture& capture, const Steered& steered,
                      std::uint64_t Count::*member) {
  std::uint64_t total = 0;
  for (std::size_t n = 0; n < capture.nodes.size(); ++n) {
    for (const auto& [kind, count] : CountsOf(capture.nodes[n], steered.run.nodes[n])) {
      total += count.*member;
    }
  }
  return total;
}

// "server", where no other machine is called so.
std::string NameOf(const Capture& capture, std::size_t node) {
  const auto name_of = [](const Node& of) {
    const std::size_t colon = of.name.find(": ");  // "node 0: server"
    return colon == std::string::npos ? of.name : of.name.substr(colon + 2);
  };
  const std::string name = name_of(capture.nodes[node]);
  const auto same = std::count_if(capture.nodes.begin(), capture.nodes.end(),
                                  [&](const Node& other) { return name_of(other) == name; });
  if (same == 1 && !name.empty()) return name;
  return absl::StrCat("file ", capture.nodes[node].file + 1, ", ", capture.nodes[node].name);
}

std::string BackendsOf(const Capture& capture) {
  std::vector<std::string> backends = capture.backends;
  std::sort(backends.begin(), backends.end());
  backends.erase(std::unique(backends.begin(), backends.end()), backends.end());
  return absl::StrJoin(backends, " and ");
}

// Regions whose initial content is not in the capture.
std::uint64_t BegunUnknown(const Capture& capture) {
  std::uint64_t count = 0;
  for (const Node& node : capture.nodes) {
    for (const sim::capture::Region& region : node.regions) {
      if (!region.digest.empty() && !region.began_zero && !region.began.has_value()) ++count;
    }
  }
  return count;
}

void Say(std::string& out, absl::string_view label, absl::string_view text) {
  absl::StrAppend(&out, label,
                  std::string(std::max<std::size_t>(label.size(), 10) - label.size(), ' '), text,
                  "\n");
}

ResultTable OperationTable(const Capture& capture, const Steered& steered) {
  ResultTable table("replay", Origin::kSimulated,
                    {{"machine"},
                     {"operations"},
                     {"count"},
                     {"bytes", "bytes", "B"},
                     {"failed there", "failed_there"},
                     {"failed here", "failed_here"}});
  for (std::size_t n = 0; n < capture.nodes.size(); ++n) {
    for (const auto& [kind, count] : CountsOf(capture.nodes[n], steered.run.nodes[n])) {
      table.AddRow({TextCell(NameOf(capture, n)), TextCell(std::string(fabric::Name(kind))),
                    CountCell(count.count), BytesCell(count.bytes), CountCell(count.failed_there),
                    CountCell(count.failed_here)});
    }
  }
  return table;
}

ResultTable OrderTable(const Capture& capture, const Steered& steered) {
  ResultTable table("replay", Origin::kSimulated,
                    {{"machine"}, {"queue"}, {"completions"}, {"order"}});
  for (const QueueVerdict& queue : steered.queues) {
    table.AddRow({TextCell(NameOf(capture, queue.node)),
                  TextCell(absl::StrCat("queue ", queue.queue)), CountCell(queue.completions),
                  TextCell(queue.same_order ? "same"
                                            : absl::StrCat("different from the ",
                                                           queue.first_difference, ". on"))});
  }
  return table;
}

absl::string_view VerdictOf(const RegionVerdict& region) {
  if (!region.comparable()) return "not known";
  return region.same() ? "same" : "different";
}

// A person reads the beginning of it.
Cell DigestCell(const std::string& digest) {
  return digest.empty() ? NoCell() : Cell{digest.substr(0, 12), digest};
}

ResultTable MemoryTable(const Capture& capture, const Steered& steered) {
  ResultTable table("replay", Origin::kSimulated,
                    {{"machine"},
                     {"region"},
                     {"length", "length", "B"},
                     {"digest there", "digest_there"},
                     {"digest here", "digest_here"},
                     {"memory"}});
  for (const RegionVerdict& region : steered.regions) {
    const absl::string_view verdict = VerdictOf(region);
    table.AddRow({TextCell(NameOf(capture, region.node)),
                  Cell{absl::StrCat("region ", region.region), std::uint64_t{region.region}},
                  BytesCell(capture.nodes[region.node].regions[region.region].length),
                  DigestCell(region.recorded), DigestCell(region.replayed),
                  TextCell(std::string(verdict.data(), verdict.size()))});
  }
  return table;
}

std::string HeadLines(const Capture& capture, const Steered& steered, const Scene& scene) {
  std::string out;
  const std::uint64_t filled = TotalOf(capture, steered, &Count::filled);
  Say(out, "capture",
      absl::StrCat(FormatCount(capture.backends.size(), "file"), ", ",
                   FormatCount(capture.nodes.size(), "machine"), ": ",
                   FormatCount(TotalOf(capture, steered, &Count::count), "operation"), ", ",
                   FormatBytes(TotalOf(capture, steered, &Count::moved)), ", of ",
                   BackendsOf(capture)));
  for (const auto& [what, count] : capture.left_out) {
    Say(out, "left out",
        absl::StrCat(FormatCount(count, "operation"), " of kind ", what, ": not replayed"));
  }
  const std::uint64_t unknown = BegunUnknown(capture);
  if (unknown > 0) {
    Say(out, "unknown",
        absl::StrCat(FormatCount(unknown, "region"),
                     " began with bytes that the capture does not hold"));
  }
  if (filled > 0) {
    Say(out, "filled",
        absl::StrCat(FormatCount(filled, "operation"),
                     " with a pattern: the capture does not hold the data"));
  }
  Say(out, "replay",
      absl::StrCat("simulated EFA (", scene.fabric, ", profile ", scene.profile, "), seed ",
                   scene.seed, ", ", scene.recorded_times ? "recorded times" : "as fast as it goes",
                   ": ", FormatDuration(steered.run.simulated), " of virtual time, ",
                   FormatCount(steered.attempts, "run")));
  if (steered.held > 0) {
    Say(out, "held",
        absl::StrCat(FormatCount(steered.held, "completion"), " back, ",
                     steered.same_order() ? "so that the order is the recorded one"
                                          : "to come nearer to the recorded order"));
  }
  if (scene.keep_order && !steered.same_order()) {
    Say(out, "order",
        absl::StrCat("not the recorded one, after ", FormatCount(steered.attempts, "run"),
                     ": completions that are held back move others that are under way"));
  }
  if (steered.failed > 0) {
    Say(out, "made fail",
        absl::StrCat(FormatCount(steered.failed, "operation"),
                     " with the recorded status, which would not come by itself"));
  }
  return out;
}

std::string MissingLines(const Capture& capture, const Steered& steered) {
  std::string out;
  const auto& missing = steered.run.missing;
  for (std::size_t i = 0; i < std::min(kMostLines, missing.size()); ++i) {
    const Node& node = capture.nodes[missing[i].node];
    std::string what = "something";
    if (missing[i].operation != sim::capture::kNowhere) {
      const Operation& operation = node.operations[missing[i].operation];
      what = absl::StrCat(View(fabric::Name(operation.kind)), " ", operation.number);
    } else if (missing[i].kind == sim::capture::StepKind::kRead) {
      what = "a peer's immediate";
    }
    const bool post = missing[i].kind == sim::capture::StepKind::kPost;
    Say(out, "missing",
        absl::StrCat(NameOf(capture, missing[i].node), ": ", what,
                     post ? " was never taken" : " did not come"));
  }
  if (missing.size() > kMostLines) {
    Say(out, "missing", absl::StrCat("and ", missing.size() - kMostLines, " more"));
  }
  return out;
}

std::string StatusLines(const Capture& capture, const Steered& steered) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kMostLines, steered.statuses.size()); ++i) {
    const StatusVerdict& status = steered.statuses[i];
    const Operation& operation = capture.nodes[status.node].operations[status.operation];
    Say(out, "status",
        absl::StrCat(NameOf(capture, status.node), ", ", View(fabric::Name(operation.kind)), " ",
                     operation.number, ": ", status.recorded, " there, ", status.replayed,
                     " here"));
  }
  if (steered.statuses.size() > kMostLines) {
    Say(out, "status", absl::StrCat("and ", steered.statuses.size() - kMostLines, " more"));
  }
  for (const std::string& finding : steered.run.findings) Say(out, "check", finding);
  return out;
}

std::string VerdictLine(const Steered& steered) {
  const auto count = [&](bool (RegionVerdict::*is)() const) {
    return std::count_if(steered.regions.begin(), steered.regions.end(),
                         [is](const RegionVerdict& region) { return (region.*is)(); });
  };
  const auto comparable = count(&RegionVerdict::comparable);
  const auto same = count(&RegionVerdict::same);
  const auto unknown = static_cast<std::int64_t>(steered.regions.size()) - comparable;
  const std::string rest =
      unknown > 0 ? absl::StrCat(" (of ", unknown, " more the capture holds no digest)") : "";
  if (comparable == 0) return "Memory cannot be compared: the capture holds no digests\n";
  if (same == comparable) return absl::StrCat("Memory is the same", rest, "\n");
  return absl::StrCat("Memory is different: ", comparable - same, " of ",
                      FormatCount(static_cast<std::uint64_t>(comparable), "region"), rest, "\n");
}

}  // namespace

std::string TextReport(const Capture& capture, const Steered& steered, const Scene& scene) {
  std::string out = HeadLines(capture, steered, scene);
  absl::StrAppend(&out, MissingLines(capture, steered), StatusLines(capture, steered), "\n",
                  ToAlignedRows(OperationTable(capture, steered)), "\n",
                  ToAlignedRows(OrderTable(capture, steered)), "\n",
                  ToAlignedRows(MemoryTable(capture, steered)), "\n", VerdictLine(steered));
  return out;
}

std::string CsvReport(const Capture& capture, const Steered& steered) {
  return ToCsv(MemoryTable(capture, steered));
}

std::string JsonReport(const Capture& capture, const Steered& steered, const Scene& scene) {
  json out = {{"same_memory", steered.same_memory()},
              {"same_order", steered.same_order()},
              {"simulated", true},
              {"fabric", scene.fabric},
              {"profile", scene.profile},
              {"seed", scene.seed},
              {"recorded_times", scene.recorded_times},
              {"captured_from", capture.backends},
              {"runs", steered.attempts},
              {"held", steered.held},
              {"made_fail", steered.failed},
              {"missing", steered.run.missing.size()},
              {"virtual_ns", steered.run.simulated.count()},
              {"digest", steered.run.digest},
              {"findings", steered.run.findings}};
  out["left_out"] = json::object();
  for (const auto& [what, count] : capture.left_out) out["left_out"][what] = count;
  for (const char* list : {"operations", "queues", "regions", "statuses"})
    out[list] = json::array();
  for (std::size_t n = 0; n < capture.nodes.size(); ++n) {
    for (const auto& [kind, count] : CountsOf(capture.nodes[n], steered.run.nodes[n])) {
      out["operations"].push_back({{"machine", NameOf(capture, n)},
                                   {"kind", fabric::Name(kind)},
                                   {"count", count.count},
                                   {"bytes", count.bytes},
                                   {"failed_there", count.failed_there},
                                   {"failed_here", count.failed_here},
                                   {"filled", count.filled}});
    }
  }
  for (const QueueVerdict& queue : steered.queues) {
    out["queues"].push_back({{"machine", NameOf(capture, queue.node)},
                             {"queue", queue.queue},
                             {"completions", queue.completions},
                             {"same_order", queue.same_order}});
  }
  for (const RegionVerdict& region : steered.regions) {
    out["regions"].push_back({{"machine", NameOf(capture, region.node)},
                              {"region", region.region},
                              {"length", capture.nodes[region.node].regions[region.region].length},
                              {"digest_there", region.recorded},
                              {"digest_here", region.replayed},
                              {"memory", std::string(VerdictOf(region))}});
  }
  for (const StatusVerdict& status : steered.statuses) {
    out["statuses"].push_back(
        {{"machine", NameOf(capture, status.node)},
         {"op", capture.nodes[status.node].operations[status.operation].number},
         {"there", status.recorded},
         {"here", status.replayed}});
  }
  return absl::StrCat(out.dump(2, ' ', true, json::error_handler_t::replace), "\n");
}

}  // namespace drydock::apps::replay
