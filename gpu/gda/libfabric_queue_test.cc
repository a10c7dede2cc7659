// What a provider says of its queues, and what is made of it: with a table of calls that stands in.

#include "drydock/gpu/gda/libfabric_queue.h"

#include <rdma/fi_errno.h>

#include <array>
#include <cstdint>

#include "drydock/gpu/gda/libfabric_endpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Answers what it is told to.
class FakeOps final : public GdaOps {
 public:
  int QueryAddress(fid_ep*, std::uint64_t peer, PeerView& view) override {
    if (peer != 3) return -FI_EINVAL;
    view = {11, 22, 33};
    return 0;
  }
  int QueryWorkQueues(fid_ep*, WorkQueue& send_out, WorkQueue& receive_out) override {
    send_out = send;
    receive_out = receive;
    return error;
  }
  int QueryCompletionQueue(fid_cq*, DoneQueue& out) override {
    out = done;
    return done_error;
  }
  std::uint64_t LocalKey(fid_mr*) override { return key; }

  std::array<std::byte, 64> memory{};
  std::uint32_t doorbell = 0;
  WorkQueue send{memory.data(), 64, 4096, &doorbell, 11, true};
  WorkQueue receive{memory.data(), 16, 32768, &doorbell, 0, false};
  DoneQueue done{memory.data(), 32, 8192};
  int error = 0;
  int done_error = 0;
  std::uint64_t key = 0x123456;
};

TEST(LibfabricQueueTest, SaysWhatTheProviderSays) {
  FakeOps ops;
  const absl::StatusOr<QueueView> view = QueryQueue(ops, nullptr, nullptr, nullptr);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->send.entry_count, 4096u);
  EXPECT_EQ(view->send.max_batch, 11u);
  EXPECT_EQ(view->send.bell.word, &ops.doorbell);
  EXPECT_EQ(view->send.bell.taken, nullptr);  // a register takes every store
  EXPECT_EQ(view->receive.max_batch, 32768u);
  EXPECT_EQ(view->receive_done.entry_bytes, 32u);
  EXPECT_TRUE(view->long_request_ids);
  const absl::StatusOr<PeerView> peer = QueryPeer(ops, nullptr, 3);
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->address_handle, 11);
  EXPECT_EQ(peer->queue_pair, 22);
  EXPECT_EQ(peer->qkey, 33u);
  EXPECT_EQ(QueryLocalKey(ops, nullptr).value(), 0x123456u);
}

TEST(LibfabricQueueTest, RefusesWhatNoDeviceCouldDrive) {
  const auto why = [](const FakeOps& ops) {
    FakeOps copy = ops;
    return std::string(QueryQueue(copy, nullptr, nullptr, nullptr).status().message());
  };
  FakeOps ops;
  ops.send.entry_count = 4000;
  EXPECT_THAT(why(ops), HasSubstr("send queue has 4000 entries"));
  ops = FakeOps();
  ops.send.entry_bytes = 96;
  EXPECT_THAT(why(ops), HasSubstr("send queue has entries of 96 B"));
  ops = FakeOps();
  ops.receive.doorbell = nullptr;
  EXPECT_THAT(why(ops), HasSubstr("receive queue is not mapped"));
  ops = FakeOps();
  ops.send.max_batch = 0;
  EXPECT_THAT(why(ops), HasSubstr("send queue takes no batch"));
  ops = FakeOps();
  ops.done.entry_bytes = 24;
  EXPECT_THAT(why(ops), HasSubstr("send completions have 24 B"));
  ops = FakeOps();
  ops.done.buffer = nullptr;
  EXPECT_THAT(why(ops), HasSubstr("send completions are not mapped"));
  ops = FakeOps();
  ops.error = -FI_EOPNOTSUPP;
  EXPECT_THAT(why(ops), HasSubstr("query_qp_wqs: "));
  ops = FakeOps();
  ops.done_error = -FI_EINVAL;
  EXPECT_THAT(why(ops), HasSubstr("query_cq: "));
}

TEST(LibfabricQueueTest, RefusesPeersAndKeysThatAreNone) {
  FakeOps ops;
  EXPECT_EQ(QueryPeer(ops, nullptr, 4).status().code(), absl::StatusCode::kNotFound);
  ops.key = GdaOps::kNoKey;
  EXPECT_FALSE(QueryLocalKey(ops, nullptr).ok());
  ops.key = 0x1000000;  // a work request has 24 bits for it
  EXPECT_FALSE(QueryLocalKey(ops, nullptr).ok());
}

// On a machine with an EFA NIC and a new libfabric it opens.
TEST(LibfabricEndpointTest, SaysWhatIsMissing) {
  const auto endpoint = LibfabricEndpoint::Open("no such NIC");
  ASSERT_FALSE(endpoint.ok());
  EXPECT_THAT(std::string(endpoint.status().message()),
              AnyOf(AllOf(HasSubstr("libfabric "), HasSubstr("efa-direct"), HasSubstr("2.3")),
                    HasSubstr("no NIC is called")));
}

}  // namespace
}  // namespace drydock::gpu::gda
