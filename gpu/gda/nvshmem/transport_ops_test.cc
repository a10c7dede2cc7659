// The page has a row for each function that NVSHMEM asks of a transport, in their order.

#include "drydock/gpu/gda/nvshmem/transport_ops.h"

#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda::nvshmem {
namespace {

using ::testing::ElementsAreArray;

// The first cells of the table that begins with this row.
std::vector<std::string> RowsOf(const std::string& path, const std::string& header) {
  std::ifstream page(path);
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind(header, 0) == 0) {
      inside = true;
    } else if (inside && line.rfind("| `", 0) == 0) {
      rows.push_back(line.substr(3, line.find('`', 3) - 3));
    } else if (inside && line.rfind("|---", 0) != 0) {
      break;
    }
  }
  return rows;
}

TEST(TransportOpsTest, ThePageHasEachMember) {
  EXPECT_THAT(RowsOf("docs/gda.md", "| Of a transport "), ElementsAreArray(kTransportOps));
}

}  // namespace
}  // namespace drydock::gpu::gda::nvshmem
