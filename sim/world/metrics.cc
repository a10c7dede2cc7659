#include "drydock/sim/world/metrics.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace drydock::sim {

using fabric::metrics::CounterValue;
using fabric::metrics::NicMetrics;

namespace {

struct Field {
  const char* name;
  std::uint64_t DeviceCounters::*value;
};

constexpr Field kFields[] = {
    {"tx_bytes", &DeviceCounters::tx_bytes},
    {"tx_pkts", &DeviceCounters::tx_pkts},
    {"rx_bytes", &DeviceCounters::rx_bytes},
    {"rx_pkts", &DeviceCounters::rx_pkts},
    {"rx_drops", &DeviceCounters::rx_drops},
    {"send_bytes", &DeviceCounters::send_bytes},
    {"send_wrs", &DeviceCounters::send_wrs},
    {"recv_bytes", &DeviceCounters::recv_bytes},
    {"recv_wrs", &DeviceCounters::recv_wrs},
    {"rdma_read_wrs", &DeviceCounters::rdma_read_wrs},
    {"rdma_read_bytes", &DeviceCounters::rdma_read_bytes},
    {"rdma_read_wr_err", &DeviceCounters::rdma_read_wr_err},
    {"rdma_read_resp_bytes", &DeviceCounters::rdma_read_resp_bytes},
    {"rdma_write_wrs", &DeviceCounters::rdma_write_wrs},
    {"rdma_write_bytes", &DeviceCounters::rdma_write_bytes},
    {"rdma_write_wr_err", &DeviceCounters::rdma_write_wr_err},
    {"rdma_write_recv_bytes", &DeviceCounters::rdma_write_recv_bytes},
    {"retrans_bytes", &DeviceCounters::retrans_bytes},
    {"retrans_pkts", &DeviceCounters::retrans_pkts},
    {"retrans_timeout_events", &DeviceCounters::retrans_timeout_events},
    {"unresponsive_remote_events", &DeviceCounters::unresponsive_remote_events},
    {"impaired_remote_conn_events", &DeviceCounters::impaired_remote_conn_events},
    {"submitted_cmds", &DeviceCounters::submitted_cmds},
    {"completed_cmds", &DeviceCounters::completed_cmds},
    {"cmds_err", &DeviceCounters::cmds_err},
    {"no_completion_cmds", &DeviceCounters::no_completion_cmds},
    {"keep_alive_rcvd", &DeviceCounters::keep_alive_rcvd},
    {"alloc_pd_err", &DeviceCounters::alloc_pd_err},
    {"create_qp_err", &DeviceCounters::create_qp_err},
    {"create_cq_err", &DeviceCounters::create_cq_err},
    {"reg_mr_err", &DeviceCounters::reg_mr_err},
    {"alloc_ucontext_err", &DeviceCounters::alloc_ucontext_err},
    {"create_ah_err", &DeviceCounters::create_ah_err},
    {"mmap_err", &DeviceCounters::mmap_err},
    {"qkey_viol", &DeviceCounters::qkey_viol},
    {"completions_lost", &DeviceCounters::completions_lost},
    {"malformed_work", &DeviceCounters::malformed_work},
    {"doorbell_faults", &DeviceCounters::doorbell_faults},
    {"placed_twice", &DeviceCounters::placed_twice},
};
static_assert(sizeof(DeviceCounters) == std::size(kFields) * sizeof(std::uint64_t),
              "every counter has its name");

}  // namespace

std::vector<CounterValue> NamedCounters(const DeviceCounters& counters) {
  std::vector<CounterValue> values;
  values.reserve(std::size(kFields));
  for (const Field& field : kFields) values.push_back({field.name, counters.*field.value});
  return values;
}

std::vector<NicMetrics> MetricsOf(const World& world) {
  std::vector<NicMetrics> all;
  for (std::uint32_t i = 0; i < world.nics().size(); ++i) {
    const NicState& nic = world.nics()[i];
    if (nic.elsewhere) continue;
    NicMetrics metrics;
    const std::size_t slash = nic.name.find('/');  // "server/rdmap79s0"
    if (slash != std::string::npos) metrics.node = nic.name.substr(0, slash);
    metrics.nic = slash == std::string::npos ? nic.name : nic.name.substr(slash + 1);
    metrics.source = std::string(fabric::metrics::kSimulated);
    metrics.counters = NamedCounters(nic.counters);
    metrics.gone = !nic.alive();
    all.push_back(std::move(metrics));
  }
  return all;
}

}  // namespace drydock::sim
