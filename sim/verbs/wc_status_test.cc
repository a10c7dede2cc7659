#include "drydock/sim/verbs/wc_status.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

struct Row {
  std::uint8_t device;
  ibv_wc_status status;
};

// linux-rdma/rdma-core providers/efa/verbs.c; ofiwg/libfabric prov/efa/src has the same table for
// its own reading of the queues.
constexpr std::array<Row, 17> kTable = {{
    {0, IBV_WC_SUCCESS},
    {1, IBV_WC_WR_FLUSH_ERR},
    {2, IBV_WC_LOC_QP_OP_ERR},
    {3, IBV_WC_LOC_QP_OP_ERR},
    {4, IBV_WC_LOC_QP_OP_ERR},
    {5, IBV_WC_LOC_PROT_ERR},
    {6, IBV_WC_LOC_LEN_ERR},
    {7, IBV_WC_REM_ACCESS_ERR},
    {8, IBV_WC_REM_ABORT_ERR},
    {9, IBV_WC_REM_INV_RD_REQ_ERR},
    {10, IBV_WC_RNR_RETRY_EXC_ERR},
    {11, IBV_WC_REM_INV_REQ_ERR},
    {12, IBV_WC_BAD_RESP_ERR},
    {13, IBV_WC_RESP_TIMEOUT_ERR},
    {14, IBV_WC_REM_OP_ERR},
    {15, IBV_WC_RESP_TIMEOUT_ERR},
    {18, IBV_WC_REM_INV_REQ_ERR},
}};

TEST(WcStatusTest, EachStatusOfTheDevice) {
  std::set<int> known;
  for (const Row& row : kTable) {
    EXPECT_EQ(WcStatusOf(row.device), row.status) << int{row.device};
    known.insert(row.device);
  }
  for (int device = 0; device < 256; ++device) {
    if (known.contains(device)) continue;
    EXPECT_EQ(WcStatusOf(static_cast<std::uint8_t>(device)), IBV_WC_GENERAL_ERR) << device;
  }
}

TEST(WcStatusTest, EachHasAText) {
  std::set<std::string> texts;
  for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status) {
    texts.insert(ibv_wc_status_str(static_cast<ibv_wc_status>(status)));
  }
  EXPECT_EQ(texts.size(), 24u);
  EXPECT_FALSE(texts.contains("unknown"));
  EXPECT_FALSE(texts.contains(""));
}

TEST(WcStatusTest, TheTextsStandAtTheirStatuses) {
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_LOC_PROT_ERR), "local protection error");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR), "Work Request Flushed Error");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RNR_RETRY_EXC_ERR), "RNR retry counter exceeded");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RESP_TIMEOUT_ERR), "response timeout error");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_GENERAL_ERR), "general error");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE), "TM software rendezvous");
  EXPECT_STREQ(ibv_wc_status_str(static_cast<ibv_wc_status>(24)), "unknown");
  EXPECT_STREQ(ibv_wc_status_str(static_cast<ibv_wc_status>(31)), "unknown");
}

}  // namespace
}  // namespace drydock::sim::verbs
