#include "drydock/fabric/coverage/report_json.h"

#include <string>

namespace drydock::fabric::coverage {

using nlohmann::json;

json ToJson(const Report& report) {
  json points = json::array();
  for (const auto& [point, count] : report.points) {
    points.push_back({{"kind", std::string(Name(point.kind))},
                      {"name", point.name},
                      {"runs", count.runs},
                      {"held", count.held},
                      {"failed", count.failed}});
  }
  json cells = json::array();
  for (const auto& [cell, count] : report.cells) {
    cells.push_back({{"operation", cell.operation},
                     {"outcome", cell.outcome},
                     {"nic", cell.nic},
                     {"count", count}});
  }
  return {{"points", points}, {"cells", cells}};
}

}  // namespace drydock::fabric::coverage
