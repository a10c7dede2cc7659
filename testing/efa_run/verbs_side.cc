#include "drydock/testing/efa_run/verbs_side.h"

#include <cerrno>
#include <chrono>

namespace drydock::rules {
namespace {

constexpr std::uint32_t kQkey = 0x11223344;
constexpr std::uint32_t kMessageBytes = 64;

ibv_context* OpenNic(int number) {
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  Need(devices != nullptr && number < count, "ibv_get_device_list");
  ibv_context* const context = ibv_open_device(devices[number]);
  ibv_free_device_list(devices);
  Need(context != nullptr, "ibv_open_device");
  return context;
}

ibv_pd* ParentOf(ibv_context* context, ibv_pd* domain, ibv_td* thread) {
  ibv_parent_domain_init_attr attr{};
  attr.pd = domain;
  attr.td = thread;
  return ibv_alloc_parent_domain(context, &attr);
}

ibv_qp* MakeQueuePair(const Side& side, const SideOptions& options) {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = side.sends;
  attr.recv_cq = side.receives;
  attr.cap = {.max_send_wr = options.sends,
              .max_recv_wr = 64,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  attr.qp_type = IBV_QPT_DRIVER;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.pd = side.parent != nullptr ? side.parent : side.domain;
  attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
  efadv_qp_init_attr efa{};
  efa.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
  return efadv_create_qp_ex(side.context, &attr, &efa, sizeof efa);
}

void MakeReady(ibv_qp* queue_pair, std::uint8_t rnr_retry) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = kQkey;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  Need(ibv_modify_qp(queue_pair, &attr, mask) == 0, "INIT");
  attr.qp_state = IBV_QPS_RTR;
  Need(ibv_modify_qp(queue_pair, &attr, IBV_QP_STATE) == 0, "RTR");
  attr.qp_state = IBV_QPS_RTS;
  attr.rnr_retry = rnr_retry;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY;
  Need(ibv_modify_qp(queue_pair, &attr, mask) == 0, "RTS");
}

}  // namespace

Side::Side(const SideOptions& options) : memory(kBytes) {
  context = OpenNic(options.nic);
  Need(ibv_query_gid(context, 1, 0, &gid_) == 0, "ibv_query_gid");
  domain = ibv_alloc_pd(context);
  Need(domain != nullptr, "ibv_alloc_pd");
  if (options.one_thread) {
    ibv_td_init_attr attr{};
    thread = ibv_alloc_td(context, &attr);
    Need(thread != nullptr, "ibv_alloc_td");
    parent = ParentOf(context, domain, thread);
    Need(parent != nullptr, "ibv_alloc_parent_domain");
  }
  if (options.channel) channel = ibv_create_comp_channel(context);
  sends = ibv_create_cq(context, options.send_entries, nullptr, channel, 0);
  receives = ibv_create_cq(context, options.receive_entries, nullptr, nullptr, 0);
  Need(sends != nullptr && receives != nullptr, "ibv_create_cq");
  queue_pair = MakeQueuePair(*this, options);
  Need(queue_pair != nullptr, "efadv_create_qp_ex");
  number = queue_pair->qp_num;
  extended = ibv_qp_to_qp_ex(queue_pair);
  MakeReady(queue_pair, options.rnr_retry);
  region = ibv_reg_mr(domain, memory.data(), memory.size(),
                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  Need(region != nullptr, "ibv_reg_mr");
}

ibv_ah* Side::HandleOf(const Side& peer) {
  ibv_ah*& handle = handles_[&peer];
  if (handle != nullptr) return handle;
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.dgid = peer.gid_;
  handle = ibv_create_ah(domain, &attr);
  Need(handle != nullptr, "ibv_create_ah");
  return handle;
}

// ---- Work ----

void Side::Receive(std::uint64_t wr_id) {
  ibv_sge segment{.addr = reinterpret_cast<std::uint64_t>(memory.data()) + wr_id * kMessageBytes,
                  .length = kMessageBytes,
                  .lkey = region->lkey};
  ibv_recv_wr request{.wr_id = wr_id, .next = nullptr, .sg_list = &segment, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  Need(ibv_post_recv(queue_pair, &request, &bad) == 0, "ibv_post_recv");
}

int Side::Send(const Side& peer, std::uint64_t wr_id) {
  ibv_sge segment{.addr = reinterpret_cast<std::uint64_t>(memory.data()),
                  .length = kMessageBytes,
                  .lkey = region->lkey};
  ibv_send_wr request{};
  request.wr_id = wr_id;
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud.ah = HandleOf(peer);
  request.wr.ud.remote_qpn = peer.number;
  request.wr.ud.remote_qkey = kQkey;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(queue_pair, &request, &bad);
}

int Side::Write(const Side& peer, std::uint64_t wr_id, std::uint32_t bytes) {
  ibv_ah* const handle = HandleOf(peer);
  ibv_wr_start(extended);
  extended->wr_id = wr_id;
  extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_write(extended, peer.region->rkey,
                    reinterpret_cast<std::uint64_t>(peer.memory.data()));
  ibv_wr_set_sge(extended, region->lkey, reinterpret_cast<std::uint64_t>(memory.data()), bytes);
  ibv_wr_set_ud_addr(extended, handle, peer.number, kQkey);
  return ibv_wr_complete(extended);
}

void Side::Begin(const Side& peer, std::uint64_t wr_id) {
  ibv_ah* const handle = HandleOf(peer);
  ibv_wr_start(extended);
  extended->wr_id = wr_id;
  extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(extended);
  ibv_wr_set_sge(extended, region->lkey, reinterpret_cast<std::uint64_t>(memory.data()),
                 kMessageBytes);
  ibv_wr_set_ud_addr(extended, handle, peer.number, kQkey);
}

ibv_wc Side::Wait(ibv_cq* queue) const {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::seconds(100);
  ibv_wc entry{};
  while (ibv_poll_cq(queue, 1, &entry) != 1) {
    errno = ETIMEDOUT;
    Need(steady_clock::now() < deadline, "ibv_poll_cq");
  }
  return entry;
}

void Side::WaitForAll(ibv_cq* queue, int count) const {
  for (int i = 0; i < count; ++i) Need(Wait(queue).status == IBV_WC_SUCCESS, "completion");
}

// ---- The end ----

void Side::Forget(const Side& peer) {
  const auto found = handles_.find(&peer);
  if (found == handles_.end()) return;
  Need(ibv_destroy_ah(found->second) == 0, "ibv_destroy_ah");
  handles_.erase(found);
}

void Side::CloseQueuePair() {
  if (queue_pair != nullptr) Need(ibv_destroy_qp(queue_pair) == 0, "ibv_destroy_qp");
  queue_pair = nullptr;
}

void Side::CloseQueues() {
  if (sends == nullptr) return;
  Need(ibv_destroy_cq(sends) == 0 && ibv_destroy_cq(receives) == 0, "ibv_destroy_cq");
  if (channel != nullptr) Need(ibv_destroy_comp_channel(channel) == 0, "ibv_destroy_comp_channel");
  sends = nullptr;
}

void Side::Deregister() {
  if (region != nullptr) Need(ibv_dereg_mr(region) == 0, "ibv_dereg_mr");
  region = nullptr;
}

void Side::Close() {
  CloseQueuePair();
  CloseQueues();
  Deregister();
  for (const auto& [peer, handle] : handles_) Need(ibv_destroy_ah(handle) == 0, "ibv_destroy_ah");
  if (parent != nullptr) Need(ibv_dealloc_pd(parent) == 0, "ibv_dealloc_pd");
  if (thread != nullptr) Need(ibv_dealloc_td(thread) == 0, "ibv_dealloc_td");
  Need(ibv_dealloc_pd(domain) == 0, "ibv_dealloc_pd");
  Need(ibv_close_device(context) == 0, "ibv_close_device");
}

// A peer for which we have an address handle may write to us.
Pair::Pair(const SideOptions& of_a, const SideOptions& of_b) : a(of_a), b(of_b) {
  a.HandleOf(b);
  b.HandleOf(a);
}

}  // namespace drydock::rules
