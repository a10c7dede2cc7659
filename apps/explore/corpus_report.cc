#include "drydock/apps/explore/corpus_report.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/explore/report.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/verdict.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {

using nlohmann::json;
using sim::explore::CorpusReport;

std::string FormatCorpus(const CorpusReport& corpus, const std::string& folder) {
  std::string text;
  std::size_t told = 0;
  for (const auto& [path, result] : corpus.regressions) {
    if (++told > sim::explore::ExploreReport::kMostFailures) break;
    absl::StrAppend(&text, "\n", path, " fails now: ", std::string(Name(result.verdict)), ": ",
                    result.text, "\n  ", ReplayCapsuleCommand(path), "\n");
  }
  absl::StrAppend(&text, "corpus ", folder, ": ", FormatCount(corpus.found, "run"),
                  corpus.found == 1 ? " was there, " : " were there, ", corpus.regressions.size(),
                  corpus.regressions.size() == 1 ? " of them fails now; " : " of them fail now; ",
                  corpus.kept, " new; ", FormatCount(corpus.features, "feature"), "\n");
  return text;
}

std::string WithCorpus(const std::string& report, const CorpusReport& corpus,
                       const std::string& folder) {
  json regressions = json::array();
  for (const auto& [path, result] : corpus.regressions) {
    regressions.push_back({{"capsule", path},
                           {"verdict", std::string(Name(result.verdict))},
                           {"text", result.text},
                           {"replay", ReplayCapsuleCommand(path)}});
  }
  json object = json::parse(report);
  object["corpus"] = {{"folder", folder},
                      {"found", corpus.found},
                      {"kept", corpus.kept},
                      {"features", corpus.features},
                      {"regressions", std::move(regressions)}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace drydock::apps
