// An aligned table for a terminal.

#ifndef DRYDOCK_APPS_COMMON_TEXT_TABLE_H_
#define DRYDOCK_APPS_COMMON_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace drydock::apps {

// Columns are as wide as their widest cell, and separated by two spaces; cells that hold a number
// are right-aligned. The first row is the heading, and is underlined.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_TEXT_TABLE_H_
