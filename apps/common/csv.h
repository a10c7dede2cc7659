// Comma-separated values, as RFC 4180 has them.

#ifndef APPS_COMMON_CSV_H_
#define APPS_COMMON_CSV_H_

#include <string>
#include <vector>

namespace apps {

// One line for each row; cells with commas, quotes or line ends are quoted. Lines end with LF.
std::string FormatCsv(const std::vector<std::vector<std::string>>& rows);

}  // namespace apps

#endif  // APPS_COMMON_CSV_H_
