#include "drydock/apps/common/report/result_json.h"

#include "drydock/coro/check.h"

namespace drydock::apps {
namespace {

using Json = nlohmann::ordered_json;

struct ToValue {
  Json operator()(std::monostate) const { return nullptr; }
  template <typename Value>
  Json operator()(const Value& value) const {
    return value;
  }
};

// Names and bytes of files need not be UTF-8.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Json RowsJson(const ResultTable& table) {
  Json rows = Json::array();
  for (const std::vector<Cell>& row : table.rows()) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      object[table.columns()[i].key] = std::visit(ToValue(), row[i].value);
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

std::string ToJson(const ResultTable& table) {
  Json units = Json::object();
  for (const Column& column : table.columns()) {
    if (!column.unit.empty()) units[column.key] = column.unit;
  }
  const Json json = {{"name", table.name()},
                     {"origin", std::string(NameOf(table.origin()))},
                     {"units", std::move(units)},
                     {"rows", RowsJson(table)},
                     {"notes", table.notes()}};
  return Dump(json, 2);
}

std::string ToRecordJson(const ResultTable& table, int indent) {
  DD_CHECK(table.rows().size() == 1, "a record is a table of one row");
  return Dump(RowsJson(table)[0], indent);
}

}  // namespace drydock::apps
