// For reports that have more to say in JSON than their rows. Only for .cc files: it takes long to
// compile.

#ifndef APPS_COMMON_REPORT_RESULT_JSON_H_
#define APPS_COMMON_REPORT_RESULT_JSON_H_

#include "apps/common/report/result_table.h"
#include "nlohmann/json.hpp"

namespace apps {

// An array of an object for each row, with the columns' keys.
nlohmann::ordered_json RowsJson(const ResultTable& table);

}  // namespace apps

#endif  // APPS_COMMON_REPORT_RESULT_JSON_H_
