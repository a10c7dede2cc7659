#include "drydock/fabric/metrics/counters.h"

#include <algorithm>
#include <tuple>

namespace drydock::fabric::metrics {
namespace {

constexpr auto kPort = Scope::kPort;
constexpr auto kAdmin = Scope::kAdmin;
constexpr auto kSimulator = Scope::kSimulator;

constexpr CounterInfo kTable[] = {
    {"tx_bytes", "bytes", kPort, "Bytes that were sent on the link, with headers."},
    {"tx_pkts", "packets", kPort, "Packets that were sent on the link."},
    {"rx_bytes", "bytes", kPort, "Bytes that came in from the link, with headers."},
    {"rx_pkts", "packets", kPort, "Packets that came in from the link."},
    {"rx_drops", "packets", kPort, "Packets that came in and were dropped: no receive was posted."},
    {"send_bytes", "bytes", kPort, "Bytes of messages that were sent."},
    {"send_wrs", "requests", kPort, "Sends that have completed."},
    {"recv_bytes", "bytes", kPort, "Bytes of messages that were received."},
    {"recv_wrs", "requests", kPort, "Receives that have completed."},
    {"rdma_read_wrs", "requests", kPort, "Reads that have completed."},
    {"rdma_read_bytes", "bytes", kPort, "Bytes that reads have brought here."},
    {"rdma_read_wr_err", "requests", kPort, "Reads that have failed, here or at the peer."},
    {"rdma_read_resp_bytes", "bytes", kPort, "Bytes that reads of peers have taken from here."},
    {"rdma_write_wrs", "requests", kPort, "Writes that have completed."},
    {"rdma_write_bytes", "bytes", kPort, "Bytes that writes have taken to peers."},
    {"rdma_write_wr_err", "requests", kPort, "Writes that have failed, here or at the peer."},
    {"rdma_write_recv_bytes", "bytes", kPort, "Bytes that writes of peers have brought here."},
    {"retrans_bytes", "bytes", kPort, "Bytes that were sent again, with headers."},
    {"retrans_pkts", "packets", kPort, "Packets that were sent again."},
    {"retrans_timeout_events", "events", kPort,
     "Times that an answer was late, and the network path was changed."},
    {"unresponsive_remote_events", "events", kPort, "Times that a peer was given up."},
    {"impaired_remote_conn_events", "events", kPort,
     "Times that a connection was impaired, and its rate limited."},
    {"submitted_cmds", "commands", kAdmin, "Commands of the driver to the device."},
    {"completed_cmds", "commands", kAdmin, "Commands that the device has answered."},
    {"cmds_err", "commands", kAdmin, "Commands that the device has refused."},
    {"no_completion_cmds", "commands", kAdmin,
     "Commands that the device has not answered in time."},
    {"keep_alive_rcvd", "events", kAdmin, "Signs of life of the device."},
    {"alloc_pd_err", "events", kAdmin, "Protection domains that could not be had."},
    {"create_qp_err", "events", kAdmin, "Queue pairs that could not be had."},
    {"create_cq_err", "events", kAdmin, "Completion queues that could not be had."},
    {"reg_mr_err", "events", kAdmin, "Memory that could not be registered."},
    {"alloc_ucontext_err", "events", kAdmin, "Programs that could not open the device."},
    {"create_ah_err", "events", kAdmin, "Address handles that could not be had."},
    {"mmap_err", "events", kAdmin, "Queues that could not be mapped into a program."},
    {"qkey_viol", "packets", kSimulator, "Packets for a queue pair with another key than its own."},
    {"completions_lost", "events", kSimulator, "Completions that met a full completion queue."},
    {"malformed_work", "requests", kSimulator, "Work requests that make no sense."},
    {"doorbell_faults", "events", kSimulator, "Doorbells that no posted work explains."},
    {"placed_twice", "packets", kSimulator, "Packets whose bytes were placed twice."},
};

// The table's number of a counter; one that it lacks comes after all.
std::size_t PlaceOf(std::string_view name) {
  const auto found = std::find_if(std::begin(kTable), std::end(kTable),
                                  [name](const CounterInfo& info) { return info.name == name; });
  return static_cast<std::size_t>(found - std::begin(kTable));
}

}  // namespace

std::span<const CounterInfo> CounterTable() { return kTable; }

const CounterInfo* FindCounter(std::string_view name) {
  const std::size_t place = PlaceOf(name);
  return place < std::size(kTable) ? &kTable[place] : nullptr;
}

const CounterValue* Find(const NicMetrics& metrics, std::string_view name) {
  for (const CounterValue& counter : metrics.counters) {
    if (counter.name == name) return &counter;
  }
  return nullptr;
}

NicMetrics Since(const NicMetrics& before, const NicMetrics& after) {
  NicMetrics change = after;
  for (CounterValue& counter : change.counters) {
    const CounterValue* old = Find(before, counter.name);
    if (old != nullptr && old->value <= counter.value) counter.value -= old->value;
  }
  return change;
}

void Order(std::vector<CounterValue>& counters) {
  std::sort(counters.begin(), counters.end(), [](const CounterValue& a, const CounterValue& b) {
    return std::tuple(PlaceOf(a.name), std::string_view(a.name)) <
           std::tuple(PlaceOf(b.name), std::string_view(b.name));
  });
}

}  // namespace drydock::fabric::metrics
