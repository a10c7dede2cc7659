// The result of a transfer of pages, as a person or a script is told.

#ifndef APPS_COMMON_SESSION_TRANSFER_REPORT_H_
#define APPS_COMMON_SESSION_TRANSFER_REPORT_H_

#include "apps/common/page_data.h"
#include "apps/common/session/console.h"
#include "apps/common/session/session.h"

namespace apps {

// The result: a last line, a JSON object, or a row. Returns the exit status: 0 only for right data.
int Report(Console& console, const TransferReport& transfer, const Scene& scene);

}  // namespace apps

#endif  // APPS_COMMON_SESSION_TRANSFER_REPORT_H_
