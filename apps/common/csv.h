// Comma-separated values, as RFC 4180 has them.

#ifndef DRYDOCK_APPS_COMMON_CSV_H_
#define DRYDOCK_APPS_COMMON_CSV_H_

#include <string>
#include <vector>

namespace drydock::apps {

// One line for each row; cells with commas, quotes or line ends are quoted. Lines end with LF.
std::string FormatCsv(const std::vector<std::vector<std::string>>& rows);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_CSV_H_
