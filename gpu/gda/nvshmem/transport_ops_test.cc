// The page has a row for each function that NVSHMEM asks of a transport, in their order.

#include "gpu/gda/nvshmem/transport_ops.h"

#include <cstddef>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"

namespace gpu::gda::nvshmem {
namespace {

// As NVSHMEM's: a pointer each, one after the other.
struct HostOps {
#define GDA_MEMBER(name, ...) std::add_pointer_t<std::remove_pointer_t<__VA_ARGS__>> name;
  GDA_NVSHMEM_TRANSPORT_OPS(GDA_MEMBER)
#undef GDA_MEMBER
};

std::vector<std::string> Members() {
#define GDA_NAME(name, ...) #name,
  return {GDA_NVSHMEM_TRANSPORT_OPS(GDA_NAME)};
#undef GDA_NAME
}

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

// What the release has: 15 pointers, and the two that the hook is called from where they are.
static_assert(sizeof(HostOps) == 15 * sizeof(void*));
static_assert(offsetof(HostOps, connect_endpoints) == 1 * sizeof(void*));
static_assert(offsetof(HostOps, finalize) == 4 * sizeof(void*));

TEST(TransportOpsTest, ThePageHasEachMember) {
  EXPECT_EQ(RowsOf("docs/gda.md", "| Of a transport "), Members());
}

}  // namespace
}  // namespace gpu::gda::nvshmem
