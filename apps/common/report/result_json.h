// For reports that have more to say in JSON than their rows. Only for .cc files: it takes long to
// compile.

#ifndef DRYDOCK_APPS_COMMON_REPORT_RESULT_JSON_H_
#define DRYDOCK_APPS_COMMON_REPORT_RESULT_JSON_H_

#include "drydock/apps/common/report/result_table.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {

// An array of an object for each row, with the columns' keys.
nlohmann::ordered_json RowsJson(const ResultTable& table);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_REPORT_RESULT_JSON_H_
