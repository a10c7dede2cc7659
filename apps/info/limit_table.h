// The fields of fabric::Limits as rows: name, unit and meaning of each, for tables and JSON.

#ifndef DRYDOCK_APPS_INFO_LIMIT_TABLE_H_
#define DRYDOCK_APPS_INFO_LIMIT_TABLE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "drydock/fabric/limits.h"

namespace drydock::apps::info {

struct LimitRow {
  absl::string_view name;  // of the field
  bool bytes;              // otherwise a count
  absl::string_view zero;  // the meaning of zero
  absl::string_view meaning;
  std::uint64_t (*value)(const fabric::Limits& limits);
};

// Every field, in the order of the struct. Static storage. Thread-safe.
std::span<const LimitRow> LimitTable();

// "8 KiB", "8928 B (8.7 KiB)", "4096", "no limit", or the meaning of zero. Thread-safe.
std::string FormatLimit(const LimitRow& row, const fabric::Limits& limits);

}  // namespace drydock::apps::info

#endif  // DRYDOCK_APPS_INFO_LIMIT_TABLE_H_
