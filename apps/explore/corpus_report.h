// What a search with a corpus came to beside its seeds, for a person and a script.

#ifndef DRYDOCK_APPS_EXPLORE_CORPUS_REPORT_H_
#define DRYDOCK_APPS_EXPLORE_CORPUS_REPORT_H_

#include <string>

#include "drydock/sim/explore/corpus/guided.h"

namespace drydock::apps {

// A paragraph for each of the first runs of the corpus that fail now, and a line about all.
std::string FormatCorpus(const sim::explore::CorpusReport& corpus, const std::string& folder);
// The report's JSON with "corpus".
std::string WithCorpus(const std::string& report, const sim::explore::CorpusReport& corpus,
                       const std::string& folder);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_CORPUS_REPORT_H_
