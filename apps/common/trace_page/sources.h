// The page's sources, as they are in this folder, put into the binary when it is built.

#ifndef DRYDOCK_APPS_COMMON_TRACE_PAGE_SOURCES_H_
#define DRYDOCK_APPS_COMMON_TRACE_PAGE_SOURCES_H_

#include "absl/strings/string_view.h"

namespace drydock::apps::trace_page {

extern const absl::string_view kHtml;  // with places for the others: @STYLE@, @SCRIPT@, @TRACE@
extern const absl::string_view kStyle;
extern const absl::string_view kScript;

}  // namespace drydock::apps::trace_page

#endif  // DRYDOCK_APPS_COMMON_TRACE_PAGE_SOURCES_H_
