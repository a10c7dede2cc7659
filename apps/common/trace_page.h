// A trace as one HTML page that draws it: no network, no other file, no library. docs/traces.md
// says how to read it, and apps/common/trace_page how it is made.

#ifndef DRYDOCK_APPS_COMMON_TRACE_PAGE_H_
#define DRYDOCK_APPS_COMMON_TRACE_PAGE_H_

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "drydock/fabric/trace/event.h"

namespace drydock::apps {

// `json` is a trace as docs/trace-format.md has it. Its strings may come from peers: nothing in
// them can end the place where the trace stands, so none becomes markup or script. A text that is
// no trace gives a page that says why.
std::string TracePage(absl::string_view json);

// Whether a trace in this file is a page: its name ends with .html. It is JSON otherwise.
bool IsTracePage(absl::string_view path);
// Writes the one or the other.
void WriteTraceOrPage(const fabric::trace::Recording& recording, absl::string_view path,
                      std::ostream& out);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_TRACE_PAGE_H_
