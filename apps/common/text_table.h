// An aligned table for a terminal.

#ifndef APPS_COMMON_TEXT_TABLE_H_
#define APPS_COMMON_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace apps {

// Columns are as wide as their widest cell, and separated by two spaces; cells that hold a number
// are right-aligned. The first row is the heading, and is underlined.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace apps

#endif  // APPS_COMMON_TEXT_TABLE_H_
