#include "drydock/apps/doctor/report.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/doctor/finding.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::doctor {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 110;  // columns of the text

// ANSI's colours, which every terminal has.
const char* ColorOf(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "\033[32m";
    case Severity::kInfo:
      return "\033[36m";
    case Severity::kWarning:
      return "\033[33m";
    case Severity::kCannot:
      break;
  }
  return "\033[31m";
}

bool IsShown(const Finding& finding, bool quiet) {
  return !quiet || finding.severity >= Severity::kWarning;
}

// A word of the report, as wide as others in its column.
std::string Word(absl::string_view text, std::size_t width, const char* color) {
  const std::string fill(text.size() < width ? width - text.size() : 0, ' ');
  return color == nullptr ? absl::StrCat(text, fill) : absl::StrCat(color, text, "\033[0m", fill);
}

// Lines of at most kWidth columns; all but the first begin with `indent` blanks, where the text of
// the first begins too.
std::string Wrapped(absl::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      absl::StrAppend(&out, "\n", std::string(indent, ' '));
      column = indent;
    }
    if (column > indent) {
      out += ' ';
      ++column;
    }
    out.append(word.data(), word.size());
    column += word.size();
  }
  return out;
}

std::string Verdict(const Diagnosis& diagnosis, const TextStyle& style) {
  const auto count = [&](Severity severity) {
    return std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                         [&](const Finding& finding) { return finding.severity == severity; });
  };
  const Severity worst = WorstOf(diagnosis.findings);
  const auto cannot = count(Severity::kCannot), warnings = count(Severity::kWarning);
  const std::string counts =
      absl::StrCat(FormatCount(cannot, "error"), " to repair, ", FormatCount(warnings, "warning"));
  std::string text;
  if (worst < Severity::kWarning) {
    text = "nothing stands in the way";
  } else if (diagnosis.partial) {
    text = counts;
  } else if (worst == Severity::kWarning) {
    text = absl::StrCat("EFA programs can run here: ", counts);
  } else if (diagnosis.nics == 0) {
    text = "EFA programs find no EFA NIC here; they run on the simulator";
  } else {
    text = absl::StrCat("EFA programs cannot run here: ", counts);
  }
  return Word(text, 0, style.color ? ColorOf(worst) : nullptr);
}

}  // namespace

std::string FormatText(const Diagnosis& diagnosis, const TextStyle& style) {
  std::size_t width = 0;
  for (const Finding& finding : diagnosis.findings) {
    if (IsShown(finding, style.quiet)) width = std::max(width, finding.check.size());
  }
  const std::size_t indent = 9 + width + 2;
  std::string text;
  const Group* group = nullptr;
  for (const Finding& finding : diagnosis.findings) {
    if (!IsShown(finding, style.quiet)) continue;
    if (group == nullptr || *group != finding.group) {
      absl::StrAppend(&text, text.empty() ? "" : "\n", NameOf(finding.group), "\n");
      group = &finding.group;
    }
    absl::StrAppend(
        &text, Word(NameOf(finding.severity), 9, style.color ? ColorOf(finding.severity) : nullptr),
        Word(finding.check, width + 2, nullptr), Wrapped(finding.what, indent), "\n");
    if (!finding.fix.empty()) {
      absl::StrAppend(&text, std::string(indent, ' '), "fix: ", Wrapped(finding.fix, indent + 5),
                      "\n");
    }
  }
  absl::StrAppend(&text, text.empty() ? "" : "\n", Verdict(diagnosis, style), "\n");
  if (diagnosis.shortened) {
    text += "Left out: what matters only with an EFA NIC (--all looks at it too).\n";
  }
  if (!diagnosis.next.empty()) text += "\nnext\n";
  for (const std::string& step : diagnosis.next) absl::StrAppend(&text, "  ", step, "\n");
  return text;
}

std::string FormatJson(const Diagnosis& diagnosis, bool quiet) {
  Json json;
  json["verdict"] = std::string(NameOf(WorstOf(diagnosis.findings)));
  json["exit_status"] = ExitStatusOf(diagnosis);
  json["instance_type"] = diagnosis.instance_type;
  json["efa_nics"] = diagnosis.nics;
  json["shortened"] = diagnosis.shortened;
  json["findings"] = Json::array();
  for (const Finding& finding : diagnosis.findings) {
    if (!IsShown(finding, quiet)) continue;
    json["findings"].push_back({{"group", std::string(NameOf(finding.group))},
                                {"check", finding.check},
                                {"severity", std::string(NameOf(finding.severity))},
                                {"what", finding.what},
                                {"fix", finding.fix}});
  }
  json["next"] = diagnosis.next;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string FormatCsv(const Diagnosis& diagnosis, bool quiet) {
  ResultTable table("doctor", Origin::kFound,
                    {{"group"}, {"check"}, {"severity"}, {"what"}, {"fix"}});
  for (const Finding& finding : diagnosis.findings) {
    if (!IsShown(finding, quiet)) continue;
    table.AddRow({TextCell(std::string(NameOf(finding.group))), TextCell(finding.check),
                  TextCell(std::string(NameOf(finding.severity))), TextCell(finding.what),
                  TextCell(finding.fix)});
  }
  return ToCsv(table);
}

bool UseColor(const std::string& asked, bool terminal, const char* no_color, const char* term) {
  if (asked != "auto") return asked == "always";
  const bool dumb = term != nullptr && std::string(term) == "dumb";
  const bool refused = no_color != nullptr && *no_color != '\0';
  return terminal && !refused && !dumb;
}

}  // namespace drydock::apps::doctor
