// How requests fail: each status of the device that can be brought about, by mistakes of a program
// and by fault plans, and calls that a plan lets fail.
//
// The library reads the plan when a process opens its first device, so each test writes its own.

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/verbs/testing/end.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

// An int: the macros of verbs.h mix enumerations otherwise.
constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;

const std::string& PlanFile() {
  static const auto& file = *new std::string([] {
    const char* folder = std::getenv("TEST_TMPDIR");
    return std::string(folder != nullptr ? folder : "/tmp") + "/plan-" + std::to_string(getpid()) +
           ".json";
  }());
  return file;
}

[[maybe_unused]] const bool kPlanIsNamed = [] {
  setenv(sim::verbs::kFaultsVariable, PlanFile().c_str(), /*overwrite=*/1);
  return true;
}();

// For the next time that a device is opened while none is.
void WritePlan(const std::string& rules, const std::string& mode = "strict") {
  std::ofstream(PlanFile()) << R"({"mode": ")" << mode << R"(", "rules": [)" << rules << "]}";
}

class FailuresTest : public ::testing::Test {
 protected:
  FailuresTest() { WritePlan(""); }
  ~FailuresTest() override { unlink(PlanFile().c_str()); }
};

// ---- Mistakes of a program ----

// A request from a to b that fails: its mistake.
struct Mistake {
  std::uint32_t device;  // status of the device
  ibv_wc_status status;
  std::function<int(End& a, End& b)> post;
};

int SendTo(End& from, ibv_ah* handle, std::uint32_t number, std::uint32_t qkey, ibv_sge segment) {
  ibv_wr_start(from.extended);
  from.extended->wr_id = 1;
  from.extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(from.extended);
  ibv_wr_set_sge(from.extended, segment.lkey, segment.addr, segment.length);
  ibv_wr_set_ud_addr(from.extended, handle, number, qkey);
  return ibv_wr_complete(from.extended);
}

int WriteTo(End& from, End& to, std::uint32_t rkey, std::uint64_t address, std::uint32_t length) {
  return from.Post(to, 1, [&](ibv_qp_ex* ex) {
    ibv_wr_rdma_write(ex, rkey, address);
    ibv_wr_set_sge(ex, from.region->lkey, from.address(0), length);
  });
}
int ReadFrom(End& from, End& to, std::uint32_t rkey, std::uint64_t address, std::uint32_t length) {
  return from.Post(to, 1, [&](ibv_qp_ex* ex) {
    ibv_wr_rdma_read(ex, rkey, address);
    ibv_wr_set_sge(ex, from.region->lkey, from.address(0), length);
  });
}

const std::map<std::string, Mistake>& Mistakes() {
  constexpr std::size_t kEnd = End::kMemoryBytes;
  static const auto& mistakes = *new std::map<std::string, Mistake>{
      {"a handle of another device",
       {4, IBV_WC_LOC_QP_OP_ERR,
        [](End& a, End& b) {
          // The fifth of that one; this one has two at most.
          std::vector<ibv_ah*> handles;
          std::vector<ibv_pd*> domains;
          ibv_ah_attr attr{};
          attr.is_global = 1;
          attr.port_num = 1;
          attr.grh.dgid = b.gid;
          for (int i = 0; i < 5; ++i) {
            domains.push_back(ibv_alloc_pd(b.context));
            handles.push_back(ibv_create_ah(domains.back(), &attr));
          }
          const int error =
              SendTo(a, handles.back(), b.queue_pair->qp_num, End::kQkey, a.Segment(0, 8));
          for (ibv_ah* handle : handles) EXPECT_EQ(ibv_destroy_ah(handle), 0);
          for (ibv_pd* domain : domains) EXPECT_EQ(ibv_dealloc_pd(domain), 0);
          return error;
        }}},
      {"a wrong local key",
       {5, IBV_WC_LOC_PROT_ERR,
        [](End& a, End& b) {
          ibv_sge segment = a.Segment(0, 8);
          segment.lkey ^= 1u << 20;
          return a.Send(b, 1, {segment});
        }}},
      {"a wrong local key of more bits than keys have",
       {5, IBV_WC_LOC_PROT_ERR,
        [](End& a, End& b) {
          ibv_sge segment = a.Segment(0, 8);
          segment.lkey ^= 1u << 20 | 1u << 28;
          return a.Send(b, 1, {segment});
        }}},
      {"the same of a write",
       {5, IBV_WC_LOC_PROT_ERR,
        [](End& a, End& b) {
          return a.Post(b, 1, [&](ibv_qp_ex* ex) {
            ibv_wr_rdma_write(ex, b.region->rkey, b.address(0));
            ibv_wr_set_sge(ex, a.region->lkey ^ (1u << 20 | 1u << 28), a.address(0), 8);
          });
        }}},
      {"bytes behind the region",
       {5, IBV_WC_LOC_PROT_ERR,
        [](End& a, End& b) { return a.Send(b, 1, {a.Segment(kEnd - 4, 8)}); }}},
      {"bytes before the region",
       {5, IBV_WC_LOC_PROT_ERR,
        [](End& a, End& b) {
          ibv_sge segment = a.Segment(0, 8);
          segment.addr -= 1;
          return a.Send(b, 1, {segment});
        }}},
      {"a second segment of no region",
       {5, IBV_WC_LOC_PROT_ERR,
        [](End& a, End& b) {
          return a.Send(b, 1, {a.Segment(0, 8), {.addr = a.address(8), .length = 8, .lkey = 0}});
        }}},
      {"a region that has gone",
       {5, IBV_WC_LOC_PROT_ERR,
        [](End& a, End& b) {
          const ibv_sge segment = a.Segment(0, 8);
          EXPECT_EQ(ibv_dereg_mr(a.region), 0);
          a.region = nullptr;
          return a.Send(b, 1, {segment});
        }}},
      {"a read into a region that may not be written",
       {5, IBV_WC_LOC_PROT_ERR,
        [](End& a, End& b) {
          EXPECT_EQ(ibv_dereg_mr(a.region), 0);
          a.region = ibv_reg_mr(a.domain, a.at(0), kEnd, 0);
          return a.Read(b, 1, 8);
        }}},
      {"a message longer than a packet",
       {6, IBV_WC_LOC_LEN_ERR,
        [](End& a, End& b) {
          ibv_port_attr port{};
          EXPECT_EQ(ibv_query_port(a.context, 1, &port), 0);
          return a.Send(b, 1, {a.Segment(0, port.max_msg_sz + 1)});
        }}},
      {"a write to a wrong key",
       {7, IBV_WC_REM_ACCESS_ERR,
        [](End& a, End& b) { return WriteTo(a, b, b.region->rkey + 1, b.address(0), 8); }}},
      {"a read by a wrong key",
       {7, IBV_WC_REM_ACCESS_ERR,
        [](End& a, End& b) { return ReadFrom(a, b, b.region->rkey ^ 1u << 25, b.address(0), 8); }}},
      {"a write across the end",
       {7, IBV_WC_REM_ACCESS_ERR,
        [](End& a, End& b) { return WriteTo(a, b, b.region->rkey, b.address(kEnd - 4), 8); }}},
      {"a read before the begin",
       {7, IBV_WC_REM_ACCESS_ERR,
        [](End& a, End& b) { return ReadFrom(a, b, b.region->rkey, b.address(0) - 1, 8); }}},
      {"a write to what peers may only read",
       {7, IBV_WC_REM_ACCESS_ERR,
        [](End& a, End& b) {
          EXPECT_EQ(ibv_dereg_mr(b.region), 0);
          constexpr int kAccess = IBV_ACCESS_REMOTE_READ;
          b.region = ibv_reg_mr(b.domain, b.at(0), kEnd, kAccess);
          return a.Write(b, 1, 8);
        }}},
      {"a write to a region that has gone",
       {7, IBV_WC_REM_ACCESS_ERR,
        [](End& a, End& b) {
          const std::uint32_t key = b.region->rkey;
          EXPECT_EQ(ibv_dereg_mr(b.region), 0);
          b.region = nullptr;
          return WriteTo(a, b, key, b.address(0), 8);
        }}},
      {"a wrong qkey",
       {9, IBV_WC_REM_INV_RD_REQ_ERR,
        [](End& a, End& b) {
          return SendTo(a, a.HandleOf(b), b.queue_pair->qp_num, End::kQkey + 1, a.Segment(0, 8));
        }}},
      {"a queue pair that is not there",
       {9, IBV_WC_REM_INV_RD_REQ_ERR,
        [](End& a, End& b) {
          return SendTo(a, a.HandleOf(b), b.queue_pair->qp_num + 7, End::kQkey, a.Segment(0, 8));
        }}},
      {"a queue pair in error",
       {9, IBV_WC_REM_INV_RD_REQ_ERR,
        [](End& a, End& b) {
          EXPECT_EQ(Move(b.queue_pair, IBV_QPS_ERR), 0);
          return a.Send(b, 1, {a.Segment(0, 8)});
        }}},
      {"a receive that is too short",
       {11, IBV_WC_REM_INV_REQ_ERR,
        [](End& a, End& b) {
          EXPECT_EQ(b.Receive(9, {b.Segment(0, 4), b.Segment(4, 3)}), 0);
          return a.Send(b, 1, {a.Segment(0, 8)});
        }}},
      {"a write from a stranger",
       {14, IBV_WC_REM_OP_ERR,
        [](End& a, End& b) {
          b.Forget(a);
          return a.Write(b, 1, 8);
        }}},
  };
  return mistakes;
}

TEST_F(FailuresTest, EachMistakeHasItsStatus) {
  for (const auto& [what, mistake] : Mistakes()) {
    SCOPED_TRACE(what);
    End a({.nic = 0});
    End b({.nic = 1});
    End other({.nic = 1});
    b.HandleOf(a);
    a.HandleOf(b);
    ASSERT_EQ(mistake.post(a, b), 0);
    const Entry entry = Await(a.send_queue);
    EXPECT_EQ(entry.wr_id, 1u);
    EXPECT_EQ(entry.vendor_error, mistake.device);
    EXPECT_EQ(entry.status, mistake.status) << ibv_wc_status_str(entry.status);
    // It was one request that failed, and nothing else.
    const ibv_sge inline_bytes{.addr = a.address(0), .length = 8};
    ASSERT_EQ(other.Receive(3, {other.Segment(0, 64)}), 0);
    ASSERT_EQ(a.Send(other, 2, {inline_bytes}, std::nullopt, IBV_SEND_SIGNALED | IBV_SEND_INLINE),
              0);
    EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
    EXPECT_EQ(Await(other.receive_queue).wr_id, 3u);
    EXPECT_TRUE(a.Quiet());
  }
}

TEST_F(FailuresTest, NoReceiveAndNoPatience) {
  for (const std::uint8_t retries : {0, 1, 6}) {
    End a({.nic = 0, .rnr_retry = retries});
    End b({.nic = 1});
    ASSERT_EQ(a.Send(b, 1, {a.Segment(0, 8)}), 0);
    const Entry entry = Await(a.send_queue);
    EXPECT_EQ(entry.vendor_error, 10u);
    EXPECT_EQ(entry.status, IBV_WC_RNR_RETRY_EXC_ERR);
    EXPECT_TRUE(b.Quiet());
  }
}

TEST_F(FailuresTest, AHandleThatGoesWhileItsMessageWaits) {
  End a({.nic = 0});
  End b({.nic = 1});
  b.HandleOf(a);
  ASSERT_EQ(a.Send(b, 1, {a.Segment(0, 8)}), 0);  // there is no receive for it
  ASSERT_EQ(a.Write(b, 2, 8), 0);
  EXPECT_EQ(Await(a.send_queue).wr_id, 2u);  // so the one before has left its ring
  a.Forget(b);
  const Entry entry = Await(a.send_queue);
  EXPECT_EQ(entry.wr_id, 1u);
  EXPECT_EQ(entry.vendor_error, 1u);
  EXPECT_EQ(entry.status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(FailuresTest, AQueuePairInErrorFlushesItsWork) {
  End a({.nic = 0});
  End b({.nic = 1});
  b.HandleOf(a);
  ASSERT_EQ(a.Send(b, 1, {a.Segment(0, 8)}), 0);
  ASSERT_EQ(a.Write(b, 2, 8), 0);
  EXPECT_EQ(Await(a.send_queue).wr_id, 2u);
  ASSERT_EQ(a.Receive(3, {a.Segment(0, 64)}), 0);
  ASSERT_EQ(Move(a.queue_pair, IBV_QPS_ERR), 0);
  const Entry sent = Await(a.send_queue);
  EXPECT_EQ(sent.wr_id, 1u);
  EXPECT_EQ(sent.status, IBV_WC_WR_FLUSH_ERR);
  const Entry received = Await(a.receive_queue);
  EXPECT_EQ(received.wr_id, 3u);
  EXPECT_EQ(received.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_TRUE(a.Quiet());
}

TEST_F(FailuresTest, AReceiveWhoseRegionHasGone) {
  End a({.nic = 0});
  End b({.nic = 1});
  ASSERT_EQ(b.Receive(9, {b.Segment(0, 64)}), 0);
  EXPECT_EQ(ibv_dereg_mr(b.region), 0);
  b.region = nullptr;
  ASSERT_EQ(a.Send(b, 1, {a.Segment(0, 8)}), 0);
  const Entry received = Await(b.receive_queue);
  EXPECT_EQ(received.wr_id, 9u);
  EXPECT_EQ(received.vendor_error, 5u);
  EXPECT_EQ(received.status, IBV_WC_LOC_PROT_ERR);
  const Entry sent = Await(a.send_queue);
  EXPECT_EQ(sent.vendor_error, 7u);
  EXPECT_EQ(sent.status, IBV_WC_REM_ACCESS_ERR);
}

// ---- Statuses by plan ----

struct Planned {
  const char* fault;
  std::uint32_t device;
  ibv_wc_status status;
};

// linux-rdma/rdma-core providers/efa/verbs.c.
const std::vector<Planned>& PlannedFailures() {
  static const auto& planned = *new std::vector<Planned>{
      {"flushed", 1, IBV_WC_WR_FLUSH_ERR},
      {"queue_pair_internal", 2, IBV_WC_LOC_QP_OP_ERR},
      {"unsupported_operation", 3, IBV_WC_LOC_QP_OP_ERR},
      {"invalid_address_handle", 4, IBV_WC_LOC_QP_OP_ERR},
      {"local_key", 5, IBV_WC_LOC_PROT_ERR},
      {"local_length", 6, IBV_WC_LOC_LEN_ERR},
      {"remote_address", 7, IBV_WC_REM_ACCESS_ERR},
      {"remote_abort", 8, IBV_WC_REM_ABORT_ERR},
      {"bad_destination", 9, IBV_WC_REM_INV_RD_REQ_ERR},
      {"receiver_not_ready", 10, IBV_WC_RNR_RETRY_EXC_ERR},
      {"remote_length", 11, IBV_WC_REM_INV_REQ_ERR},
      {"bad_response", 12, IBV_WC_BAD_RESP_ERR},
      {"unresponsive", 13, IBV_WC_RESP_TIMEOUT_ERR},
      {"unknown_peer", 14, IBV_WC_REM_OP_ERR},
      {"unreachable", 15, IBV_WC_RESP_TIMEOUT_ERR},
      {"feature_mismatch", 18, IBV_WC_REM_INV_REQ_ERR},
  };
  return planned;
}

TEST_F(FailuresTest, EachStatusByPlan) {
  const std::set<std::uint32_t> only_writes = {7, 14};
  std::string rules;
  for (const Planned& planned : PlannedFailures()) {
    const bool write = only_writes.contains(planned.device);
    rules += std::string(rules.empty() ? "" : ",") + R"({"fault": ")" + planned.fault +
             R"(", "when": {"operation": ")" + (write ? "write" : "send") +
             R"(", "immediate": {"mask": 4294967295, "value": )" + std::to_string(planned.device) +
             "}}}";
  }
  WritePlan(rules);
  End a({.nic = 0, .unsolicited = true});
  End b({.nic = 1, .unsolicited = true});
  b.HandleOf(a);
  for (const Planned& planned : PlannedFailures()) {
    SCOPED_TRACE(planned.fault);
    ASSERT_EQ(b.Receive(7, {b.Segment(0, 64)}), 0);
    if (only_writes.contains(planned.device)) {
      ASSERT_EQ(a.Write(b, planned.device, 8, planned.device), 0);
    } else {
      ASSERT_EQ(a.Send(b, planned.device, {a.Segment(0, 8)}, planned.device), 0);
    }
    const Entry entry = Await(a.send_queue);
    EXPECT_EQ(entry.wr_id, planned.device);
    EXPECT_EQ(entry.vendor_error, planned.device);
    EXPECT_EQ(entry.status, planned.status) << ibv_wc_status_str(entry.status);
    // The next one is none of the plan's.
    ASSERT_EQ(a.Write(b, 1000, 8), 0);
    EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
  }
}

TEST_F(FailuresTest, AStormOfPeersThatAreNotReady) {
  WritePlan(R"({"fault": "receiver_not_ready",
                "when": {"operation": "send", "probability": 0.5}})");
  End a({.nic = 0});
  End b({.nic = 1});
  constexpr std::uint64_t kMessages = 60;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(b.Receive(i, {b.Segment(0, 64)}), 0);
    Entry entry;
    for (int tries = 0; tries < 64 && entry.status != IBV_WC_SUCCESS; ++tries) {
      ASSERT_EQ(a.Send(b, i, {a.Segment(0, 8)}, static_cast<std::uint32_t>(i)), 0);
      entry = Await(a.send_queue);
      EXPECT_EQ(entry.wr_id, i);
      if (entry.status == IBV_WC_SUCCESS) continue;
      EXPECT_EQ(entry.vendor_error, 10u);
      ++refused;
    }
    ASSERT_EQ(entry.status, IBV_WC_SUCCESS);
    const Entry received = Await(b.receive_queue);  // once, and in its turn
    EXPECT_EQ(received.wr_id, i);
    EXPECT_EQ(received.immediate, i);
  }
  EXPECT_TRUE(b.Quiet());
  EXPECT_GT(refused, kMessages / 4);
}

// The interface has no address vectors whose order could be it.
TEST_F(FailuresTest, APlanNumbersPeersByTheFirstRequestsToThem) {
  WritePlan(R"({"fault": "local_key", "when": {"peer": 1}})");
  End a({.nic = 0});
  End b({.nic = 1});
  End c({.nic = 1});
  b.HandleOf(a);
  c.HandleOf(a);
  for (End* to : {&c, &b, &c, &b}) {
    ASSERT_EQ(a.Write(*to, 1, 8), 0);
    EXPECT_EQ(Await(a.send_queue).status, to == &b ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS);
  }
}

// ---- Calls that a plan lets fail ----

TEST_F(FailuresTest, TheThirdRegistration) {
  WritePlan(R"({"fault": "register_memory_fails", "when": {"nth": 3}})");
  End end({.registered = false});
  std::vector<ibv_mr*> regions;
  for (int call = 1; call <= 4; ++call) {
    errno = 0;
    ibv_mr* region = ibv_reg_mr(end.domain, end.at(0), 64, kLocalWrite);
    EXPECT_EQ(region == nullptr, call == 3) << call;
    EXPECT_EQ(errno, call == 3 ? ENOMEM : 0) << call;
    if (region != nullptr) regions.push_back(region);
  }
  for (ibv_mr* region : regions) EXPECT_EQ(ibv_dereg_mr(region), 0);
}

TEST_F(FailuresTest, ThePlanChoosesTheErrno) {
  const std::map<std::string, int> errors = {{"no_memory", ENOMEM},
                                             {"invalid_argument", EINVAL},
                                             {"unsupported", EOPNOTSUPP},
                                             {"busy", EBUSY},
                                             {"again", EAGAIN}};
  for (const auto& [name, error] : errors) {
    WritePlan(R"({"fault": "register_memory_fails", "parameters": {"error": ")" + name + R"("}})");
    End end({.registered = false});
    EXPECT_EQ(ibv_reg_mr(end.domain, end.at(0), 64, kLocalWrite), nullptr);
    EXPECT_EQ(errno, error) << name;
  }
}

TEST_F(FailuresTest, OtherThingsThatCannotBeHad) {
  // An end has one domain, two completion queues and one queue pair by then.
  WritePlan(R"({"fault": "open_domain_fails", "when": {"nth": 2}},
               {"fault": "open_completion_queue_fails", "when": {"nth": 3}},
               {"fault": "open_endpoint_fails", "when": {"nth": 2}})");
  End end;
  const auto make = [&](int what) -> bool {
    errno = 0;
    if (what == 0) {
      ibv_pd* domain = ibv_alloc_pd(end.context);
      return domain != nullptr && ibv_dealloc_pd(domain) == 0;
    }
    if (what == 1) {
      ibv_cq_ex* queue = MakeQueue(end.context, 8);
      return queue != nullptr && ibv_destroy_cq(ibv_cq_ex_to_cq(queue)) == 0;
    }
    ibv_qp* queue_pair = MakeQueuePair(
        end.context, QueuePairAttributes(end.domain, end.send_queue, end.receive_queue));
    return queue_pair != nullptr && ibv_destroy_qp(queue_pair) == 0;
  };
  for (const int what : {0, 1, 2}) {
    EXPECT_FALSE(make(what)) << what;
    EXPECT_EQ(errno, ENOMEM) << what;
    EXPECT_TRUE(make(what)) << what;
  }
}

TEST_F(FailuresTest, ASendQueueThatIsFullNowAndThen) {
  WritePlan(R"({"fault": "send_queue_full", "when": {"operation": ["send", "write"], "every": 3}})",
            "adversarial");
  End a({.nic = 0});
  End b({.nic = 1});
  b.HandleOf(a);
  int full = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    ASSERT_EQ(b.Receive(i, {b.Segment(0, 64)}), 0);
    const auto post = [&] {
      return i % 2 == 0 ? a.Send(b, i, {a.Segment(0, 8)}) : a.Write(b, i, 8, /*immediate=*/1);
    };
    int error = post();
    if (error != 0) {
      EXPECT_EQ(error, ENOMEM);
      ++full;
      error = post();
    }
    ASSERT_EQ(error, 0);
    const Entry entry = Await(a.send_queue);
    EXPECT_EQ(entry.wr_id, i);
    EXPECT_EQ(entry.status, IBV_WC_SUCCESS);
    EXPECT_EQ(Await(b.receive_queue).wr_id, i);
  }
  EXPECT_EQ(full, 5);  // of 17 posts
  EXPECT_TRUE(a.Quiet());
  EXPECT_TRUE(b.Quiet());
}

TEST_F(FailuresTest, ASessionThatThePlanFindsTooLong) {
  WritePlan(R"({"fault": "send_queue_full", "when": {"nth": 2}})", "adversarial");
  End a({.nic = 0});
  End b({.nic = 1});
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(b.Receive(i, {b.Segment(0, 64)}), 0);
  const auto session = [&] {
    ibv_wr_start(a.extended);
    for (std::uint64_t i = 0; i < 2; ++i) {
      a.extended->wr_id = i;
      a.extended->wr_flags = IBV_SEND_SIGNALED;
      ibv_wr_send(a.extended);
      ibv_wr_set_sge(a.extended, a.region->lkey, a.address(0), 8);
      ibv_wr_set_ud_addr(a.extended, a.HandleOf(b), b.queue_pair->qp_num, End::kQkey);
    }
    return ibv_wr_complete(a.extended);
  };
  EXPECT_EQ(session(), ENOMEM);  // both of them
  EXPECT_EQ(session(), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Await(b.receive_queue).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(a.Quiet());
  EXPECT_TRUE(b.Quiet());
}

TEST_F(FailuresTest, AReceiveQueueThatIsFullOnce) {
  WritePlan(R"({"fault": "receive_queue_full", "when": {"nth": 2}})", "adversarial");
  End end;
  EXPECT_EQ(end.Receive(1, {end.Segment(0, 64)}), 0);
  EXPECT_EQ(end.Receive(2, {end.Segment(0, 64)}), ENOMEM);
  EXPECT_EQ(end.Receive(2, {end.Segment(0, 64)}), 0);
}

// ---- Plans that are none ----

// The output of opening a device on standard error; it has to fail.
std::string SaidAtOpening() {
  ibv_device** list = ibv_get_device_list(nullptr);
  ::testing::internal::CaptureStderr();
  errno = 0;
  EXPECT_EQ(ibv_open_device(list[0]), nullptr);
  EXPECT_EQ(errno, ENODEV);
  ibv_free_device_list(list);
  return ::testing::internal::GetCapturedStderr();
}

TEST_F(FailuresTest, APlanThatCannotBeUsed) {
  unlink(PlanFile().c_str());
  EXPECT_EQ(SaidAtOpening(),
            "drydock-efa: fault plan " + PlanFile() + ": No such file or directory\n");
  EXPECT_EQ(SaidAtOpening(), "");  // once, however many devices a program tries
  const std::vector<std::string> plans = {
      "",
      "{",
      R"({"rules": [{"fault": "no_such_fault"}]})",
      R"({"rules": [{"fault": "send_queue_full"}]})",                         // more than strict
      R"({"rules": [{"fault": "insert_peer_fails"}]})",                       // not done here
      R"({"rules": [{"fault": "flushed", "when": {"nth": 1, "every": 2}}]})"  // contradicts itself
  };
  for (const std::string& plan : plans) {
    std::ofstream(PlanFile()) << plan;
    const std::string said = SaidAtOpening();
    EXPECT_EQ(said.rfind("drydock-efa: ", 0), 0u) << plan;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << plan << "\n" << said;  // one line
  }
  WritePlan("");
  End end;  // and now it works
  EXPECT_NE(end.region, nullptr);
}

}  // namespace
}  // namespace drydock::sim_testing
