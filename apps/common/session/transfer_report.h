// The result of a transfer of pages, as a person or a script is told.

#ifndef DRYDOCK_APPS_COMMON_SESSION_TRANSFER_REPORT_H_
#define DRYDOCK_APPS_COMMON_SESSION_TRANSFER_REPORT_H_

#include "drydock/apps/common/page_data.h"
#include "drydock/apps/common/session/console.h"
#include "drydock/apps/common/session/session.h"

namespace drydock::apps {

// The result: a last line, a JSON object, or a row. Returns the exit status: 0 only for right data.
int Report(Console& console, const TransferReport& transfer, const Scene& scene);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_SESSION_TRANSFER_REPORT_H_
