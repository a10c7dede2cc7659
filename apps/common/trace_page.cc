#include "drydock/apps/common/trace_page.h"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/trace_page/sources.h"
#include "drydock/fabric/trace/perfetto.h"

namespace drydock::apps {
namespace {

constexpr absl::string_view kPlaceOfTrace = "@TRACE@";

// In JSON, '<' stands in strings only, and there it can be written in another way. Without it no
// tag begins or ends.
void AppendEscaped(absl::string_view json, std::string& page) {
  while (!json.empty()) {
    const std::size_t plain = std::min(json.find('<'), json.size());
    page.append(json.data(), plain);
    json.remove_prefix(plain);
    if (json.empty()) break;
    page += "\\u003c";
    json.remove_prefix(1);
  }
}

}  // namespace

std::string TracePage(absl::string_view json) {
  const std::string frame = absl::StrReplaceAll(
      trace_page::kHtml, {{"@STYLE@", trace_page::kStyle}, {"@SCRIPT@", trace_page::kScript}});
  const std::pair<absl::string_view, absl::string_view> around =
      absl::StrSplit(frame, absl::MaxSplits(kPlaceOfTrace, 1));
  std::string page;
  page.reserve(frame.size() + json.size() + json.size() / 16);
  absl::StrAppend(&page, around.first);
  AppendEscaped(json, page);
  absl::StrAppend(&page, around.second);
  return page;
}

bool IsTracePage(absl::string_view path) { return absl::EndsWith(path, ".html"); }

void WriteTraceOrPage(const fabric::trace::Recording& recording, absl::string_view path,
                      std::ostream& out) {
  if (!IsTracePage(path)) return fabric::trace::WriteTrace(recording, out);
  std::ostringstream json;
  fabric::trace::WriteTrace(recording, json);
  out << TracePage(json.str());
}

}  // namespace drydock::apps
