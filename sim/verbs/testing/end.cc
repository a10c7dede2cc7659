#include "drydock/sim/verbs/testing/end.h"

#include <endian.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "drydock/coro/keyed_bytes.h"
#include "drydock/sim/testing/unique_name.h"
#include "drydock/sim/verbs/newer_abi.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using sim::verbs::CqFunctions;

template <typename Thing>
Thing* Need(Thing* thing, const char* what) {
  if (thing == nullptr) {
    ADD_FAILURE() << what << ": " << std::strerror(errno);
    std::abort();
  }
  return thing;
}

void NeedNone(int error, const char* what) {
  if (error == 0) return;
  ADD_FAILURE() << what << ": " << std::strerror(error);
  std::abort();
}

Entry EntryOf(ibv_cq_ex* queue) {
  Entry entry;
  entry.wr_id = queue->wr_id;
  entry.status = queue->status;
  entry.opcode = ibv_wc_read_opcode(queue);
  entry.vendor_error = ibv_wc_read_vendor_err(queue);
  entry.byte_len = ibv_wc_read_byte_len(queue);
  entry.immediate = be32toh(ibv_wc_read_imm_data(queue));
  entry.queue_pair = ibv_wc_read_qp_num(queue);
  entry.source_queue_pair = ibv_wc_read_src_qp(queue);
  entry.source_handle = ibv_wc_read_slid(queue);
  entry.flags = ibv_wc_read_wc_flags(queue);
  efadv_cq* functions = efadv_cq_from_ibv_cq_ex(queue);
  if (functions->wc_read_sgid != nullptr) {
    ibv_gid gid{};
    const int read = efadv_wc_read_sgid(functions, &gid);
    EXPECT_TRUE(read == 0 || read == -ENOENT) << read;
    if (read == 0) entry.source_gid = gid;
  }
  const auto is_unsolicited = reinterpret_cast<CqFunctions*>(functions)->wc_is_unsolicited;
  entry.unsolicited = is_unsolicited != nullptr && is_unsolicited(functions);
  return entry;
}

[[maybe_unused]] const bool kIsSetUp = [] {
  SetUpEnvironment();
  return true;
}();

}  // namespace

void SetUpEnvironment() {
  const std::string fabric = UniqueName("verbs");
  setenv(sim::verbs::kProfileVariable, "small", /*overwrite=*/0);
  setenv(sim::verbs::kFabricVariable, fabric.c_str(), /*overwrite=*/0);
  setenv(sim::verbs::kSeedVariable, "1", /*overwrite=*/0);
  std::printf("%s=%s\n", sim::verbs::kSeedVariable, std::getenv(sim::verbs::kSeedVariable));
}

// ---- Polling ----

std::optional<Entry> Take(ibv_cq_ex* queue) {
  ibv_poll_cq_attr attr{};
  if (ibv_start_poll(queue, &attr) != 0) return std::nullopt;
  const Entry entry = EntryOf(queue);
  ibv_end_poll(queue);
  return entry;
}

std::optional<Entry> TakePlain(ibv_cq_ex* queue) {
  ibv_wc wc{};
  if (ibv_poll_cq(ibv_cq_ex_to_cq(queue), 1, &wc) != 1) return std::nullopt;
  return Entry{.wr_id = wc.wr_id,
               .status = wc.status,
               .opcode = wc.opcode,
               .vendor_error = wc.vendor_err,
               .byte_len = wc.byte_len,
               .immediate = be32toh(wc.imm_data),
               .queue_pair = wc.qp_num,
               .source_queue_pair = wc.src_qp,
               .source_handle = wc.slid,
               .flags = wc.wc_flags};
}

void PollUntil(const std::function<bool()>& done) {
  // After one wait in vain, another as long would tell nothing more.
  static std::chrono::milliseconds patience(100000);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "nothing for " << patience.count() << " ms";
      patience = std::chrono::milliseconds(500);
      return;
    }
    std::this_thread::yield();
  }
}

Entry Await(ibv_cq_ex* queue) {
  std::optional<Entry> entry;
  PollUntil([&] {
    entry = Take(queue);
    return entry.has_value();
  });
  return entry.value_or(Entry{});
}

// ---- Making things ----

ibv_context* OpenDevice(int nic) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  if (nic < count) context = ibv_open_device(list[nic]);
  EXPECT_NE(context, nullptr) << "device " << nic << " of " << count;
  ibv_free_device_list(list);
  return context;
}

ibv_cq_ex* MakeQueue(ibv_context* context, std::uint32_t entries, ibv_comp_channel* channel,
                     void* cq_context) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = entries;
  attr.channel = channel;
  attr.cq_context = cq_context;
  attr.wc_flags = IBV_WC_STANDARD_FLAGS;
  efadv_cq_init_attr efa{};
  efa.wc_flags = sim::verbs::kCqWithSgid |
                 (Device().unsolicited_write_recv ? sim::verbs::kCqWithIsUnsolicited : 0);
  return efadv_create_cq(context, &attr, &efa, sizeof efa);
}

ibv_qp_init_attr_ex QueuePairAttributes(ibv_pd* domain, ibv_cq_ex* sends, ibv_cq_ex* receives,
                                        const EndOptions& options) {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = ibv_cq_ex_to_cq(sends);
  attr.recv_cq = ibv_cq_ex_to_cq(receives);
  attr.cap.max_send_wr = options.sends;
  attr.cap.max_recv_wr = options.receives;
  attr.cap.max_send_sge = 2;
  attr.cap.max_recv_sge = 3;
  attr.cap.max_inline_data = options.inline_bytes;
  attr.qp_type = IBV_QPT_DRIVER;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.pd = domain;
  attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  if (Device().rdma_read) attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ;
  if (Device().rdma_write) {
    attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  }
  return attr;
}

ibv_qp* MakeQueuePair(ibv_context* context, ibv_qp_init_attr_ex attributes,
                      const EndOptions& options) {
  sim::verbs::QpInitAttr newer{};
  newer.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
  if (options.unsolicited) newer.flags |= sim::verbs::kQpUnsolicitedWriteRecv;
  if (options.inline_writes) newer.flags |= sim::verbs::kQpInlineWrite;
  newer.wr_flags = sim::verbs::kWrWithProcessingHints;
  return efadv_create_qp_ex(context, &attributes, reinterpret_cast<efadv_qp_init_attr*>(&newer),
                            sizeof newer);
}

int Move(ibv_qp* queue_pair, ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  attr.port_num = 1;
  attr.qkey = End::kQkey;
  int mask = IBV_QP_STATE;
  if (state == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  if (state == IBV_QPS_RTS && queue_pair->state == IBV_QPS_RTR) mask |= IBV_QP_SQ_PSN;
  return ibv_modify_qp(queue_pair, &attr, mask);
}

int MakeReady(ibv_qp* queue_pair, std::uint8_t rnr_retry) {
  int error = Move(queue_pair, IBV_QPS_INIT);
  if (error == 0) error = Move(queue_pair, IBV_QPS_RTR);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.rnr_retry = rnr_retry;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (queue_pair->qp_type != IBV_QPT_UD) mask |= IBV_QP_RNR_RETRY;
  return error != 0 ? error : ibv_modify_qp(queue_pair, &attr, mask);
}

End::End(const EndOptions& options) : memory(kMemoryBytes) {
  context = Need(OpenDevice(options.nic), "ibv_open_device");
  NeedNone(ibv_query_gid(context, 1, 0, &gid), "ibv_query_gid");
  domain = Need(ibv_alloc_pd(context), "ibv_alloc_pd");
  send_queue = Need(MakeQueue(context, options.queue_entries), "efadv_create_cq");
  receive_queue =
      Need(MakeQueue(context, options.queue_entries, options.channel, this), "efadv_create_cq");
  queue_pair =
      Need(MakeQueuePair(context, QueuePairAttributes(domain, send_queue, receive_queue, options),
                         options),
           "efadv_create_qp_ex");
  extended = ibv_qp_to_qp_ex(queue_pair);
  if (options.ready) NeedNone(MakeReady(queue_pair, options.rnr_retry), "ibv_modify_qp");
  if (!options.registered) return;
  const sim::DeviceAttributes& device = Device();
  const int access = IBV_ACCESS_LOCAL_WRITE | (device.rdma_read ? IBV_ACCESS_REMOTE_READ : 0) |
                     (device.rdma_write ? IBV_ACCESS_REMOTE_WRITE : 0);
  region = Need(ibv_reg_mr(domain, memory.data(), memory.size(), access), "ibv_reg_mr");
}

End::~End() {
  if (queue_pair != nullptr) {
    EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
  }
  for (const auto& [peer, handle] : handles_) EXPECT_EQ(ibv_destroy_ah(handle), 0);
  if (send_queue != nullptr) {
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(send_queue)), 0);
  }
  if (receive_queue != nullptr) {
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(receive_queue)), 0);
  }
  if (region != nullptr) {
    EXPECT_EQ(ibv_dereg_mr(region), 0);
  }
  EXPECT_EQ(ibv_dealloc_pd(domain), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

// ---- Peers ----

ibv_ah* End::HandleOf(const End& peer) {
  ibv_ah*& handle = handles_[&peer];
  if (handle == nullptr) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = 1;
    attr.grh.dgid = peer.gid;
    handle = Need(ibv_create_ah(domain, &attr), "ibv_create_ah");
  }
  return handle;
}

std::uint16_t End::NumberOf(ibv_ah* handle) {
  efadv_ah_attr attr{};
  NeedNone(efadv_query_ah(handle, &attr, sizeof attr), "efadv_query_ah");
  return attr.ahn;
}

void End::Forget(const End& peer) {
  const auto found = handles_.find(&peer);
  if (found == handles_.end()) return;
  EXPECT_EQ(ibv_destroy_ah(found->second), 0);
  handles_.erase(found);
}

// ---- Posting ----

int End::Receive(std::uint64_t wr_id, std::vector<ibv_sge> segments) {
  ibv_recv_wr request{};
  request.wr_id = wr_id;
  request.sg_list = segments.data();
  request.num_sge = static_cast<int>(segments.size());
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_recv(queue_pair, &request, &bad);
  EXPECT_EQ(bad, error == 0 ? nullptr : &request);
  return error;
}

int End::Send(const End& peer, std::uint64_t wr_id, std::vector<ibv_sge> segments,
              std::optional<std::uint32_t> immediate, unsigned flags) {
  ibv_send_wr request{};
  request.wr_id = wr_id;
  request.sg_list = segments.data();
  request.num_sge = static_cast<int>(segments.size());
  request.opcode = immediate.has_value() ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  request.imm_data = htobe32(immediate.value_or(0));
  request.send_flags = flags;
  request.wr.ud.ah = HandleOf(peer);
  request.wr.ud.remote_qpn = peer.queue_pair->qp_num;
  request.wr.ud.remote_qkey = kQkey;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(queue_pair, &request, &bad);
  EXPECT_EQ(bad, error == 0 ? nullptr : &request);
  return error;
}

int End::Post(const End& peer, std::uint64_t wr_id, const std::function<void(ibv_qp_ex*)>& build) {
  ibv_ah* const handle = HandleOf(peer);
  ibv_wr_start(extended);
  extended->wr_id = wr_id;
  extended->wr_flags = IBV_SEND_SIGNALED;
  build(extended);
  ibv_wr_set_ud_addr(extended, handle, peer.queue_pair->qp_num, kQkey);
  return ibv_wr_complete(extended);
}

int End::Write(const End& peer, std::uint64_t wr_id, std::uint32_t length,
               std::optional<std::uint32_t> immediate) {
  return Post(peer, wr_id, [&](ibv_qp_ex* ex) {
    if (immediate.has_value()) {
      ibv_wr_rdma_write_imm(ex, peer.region->rkey, peer.address(0), htobe32(*immediate));
    } else {
      ibv_wr_rdma_write(ex, peer.region->rkey, peer.address(0));
    }
    ibv_wr_set_sge(ex, region->lkey, address(0), length);
  });
}

int End::Read(const End& peer, std::uint64_t wr_id, std::uint32_t length) {
  return Post(peer, wr_id, [&](ibv_qp_ex* ex) {
    ibv_wr_rdma_read(ex, peer.region->rkey, peer.address(0));
    ibv_wr_set_sge(ex, region->lkey, address(0), length);
  });
}

bool End::Quiet() { return !Take(send_queue).has_value() && !Take(receive_queue).has_value(); }

// ---- Bytes ----

void Fill(std::span<std::byte> bytes, unsigned seed) { coro::FillKeyed(bytes, seed); }

bool Holds(std::span<const std::byte> bytes, unsigned seed) {
  return coro::HoldsKeyed(bytes, seed);
}

}  // namespace drydock::sim_testing
