#include "drydock/sim/coverage/requirements.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/coverage/matrix.h"

namespace drydock::sim::coverage {
namespace {

using fabric::coverage::Cell;
using fabric::coverage::Point;
using fabric::coverage::PointKind;
using fabric::coverage::Report;

constexpr absl::string_view kForms =
    "a line is always, sometimes or reachable and a \"NAME\", or cell OPERATION OUTCOME NIC";

std::optional<PointKind> KindOf(absl::string_view word) {
  for (const PointKind kind : {PointKind::kAlways, PointKind::kSometimes, PointKind::kReachable}) {
    const std::string_view name = Name(kind);
    if (word == absl::string_view(name.data(), name.size())) return kind;
  }
  return std::nullopt;
}

absl::StatusOr<Point> ParsePoint(PointKind kind, absl::string_view rest) {
  absl::string_view name = rest;
  const bool quoted = absl::ConsumePrefix(&name, "\"") && absl::ConsumeSuffix(&name, "\"");
  if (!quoted || name.empty() || absl::StrContains(name, "\"")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", rest, "' is no name: it takes one in double quotes"));
  }
  return Point{kind, std::string(name)};
}

absl::Status CheckWord(absl::string_view word, absl::string_view what,
                       const std::vector<std::string>& words) {
  if (word == "*" || (!word.empty() && std::find(words.begin(), words.end(), word) != words.end()))
    return absl::OkStatus();
  std::vector<std::string> named = words;
  std::erase(named, "");
  return absl::InvalidArgumentError(
      absl::StrCat("'", word, "' is no ", what, ": there are *, ", absl::StrJoin(named, ", ")));
}

absl::StatusOr<Cell> ParseCell(absl::string_view rest) {
  const std::vector<std::string> words = absl::StrSplit(rest, ' ', absl::SkipEmpty());
  if (words.size() != 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a cell has three words, OPERATION OUTCOME NIC, and this one has ", words.size()));
  }
  RETURN_IF_ERROR(CheckWord(words[0], "operation", OperationNames()));
  RETURN_IF_ERROR(CheckWord(words[1], "outcome", OutcomeNames()));
  if (words[2].find('*') < words[2].size() - 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", words[2], "': a * is the end of a NIC's name"));
  }
  return Cell{words[0], words[1], words[2]};
}

absl::StatusOr<std::variant<Point, Cell>> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
  const absl::string_view rest =
      parts.size() == 2 ? absl::StripAsciiWhitespace(parts[1]) : absl::string_view();
  if (parts[0] == "cell") return ParseCell(rest);
  const std::optional<PointKind> kind = KindOf(parts[0]);
  if (kind.has_value()) return ParsePoint(*kind, rest);
  return absl::InvalidArgumentError(absl::StrCat("'", parts[0], "' is unknown: ", kForms));
}

bool MatchesNic(const std::string& pattern, const std::string& nic) {
  absl::string_view prefix = pattern;
  return absl::ConsumeSuffix(&prefix, "*") ? absl::StartsWith(nic, prefix) : nic == pattern;
}

bool IsCovered(const Point& point, const Report& report) {
  const auto found = report.points.find(point);
  return found != report.points.end() && found->second.held > 0;
}

bool IsCovered(const Cell& wanted, const Report& report) {
  return std::any_of(report.cells.begin(), report.cells.end(), [&](const auto& entry) {
    const Cell& cell = entry.first;
    return (wanted.operation == "*" || wanted.operation == cell.operation) &&
           (wanted.outcome == "*" || wanted.outcome == cell.outcome) &&
           MatchesNic(wanted.nic, cell.nic);
  });
}

std::string ToText(const Point& point) {
  return absl::StrCat(std::string(Name(point.kind)), " \"", point.name, "\"");
}

std::string ToText(const Cell& cell) {
  return absl::StrCat("cell ", cell.operation, " ", cell.outcome, " ", cell.nic);
}

}  // namespace

absl::StatusOr<std::vector<Requirement>> ParseRequirements(absl::string_view text,
                                                           absl::string_view name) {
  std::vector<Requirement> requirements;
  int number = 0;
  for (const absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(whole);
    if (line.empty() || line[0] == '#') continue;
    auto what = ParseLine(line);
    if (!what.ok()) {
      return absl::Status(what.status().code(),
                          absl::StrCat(name, ":", number, ": ", what.status().message()));
    }
    requirements.push_back({number, *std::move(what)});
  }
  if (requirements.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": it requires nothing: ", kForms));
  }
  return requirements;
}

std::vector<std::string> NotCovered(const std::vector<Requirement>& requirements,
                                    const Report& report) {
  std::vector<std::string> missing;
  for (const Requirement& requirement : requirements) {
    std::visit(
        [&](const auto& what) {
          if (!IsCovered(what, report)) missing.push_back(ToText(what));
        },
        requirement.what);
  }
  return missing;
}

}  // namespace drydock::sim::coverage
