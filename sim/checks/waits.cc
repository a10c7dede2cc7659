#include "drydock/sim/checks/waits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/sim/device/nic_state.h"

namespace drydock::sim {
namespace {

// Of one kind, for one endpoint: a person reads the first few.
constexpr std::size_t kMostLines = 8;

std::string NameOf(const std::string& nic, std::uint32_t queue_pair) {
  return absl::StrCat(nic, " queue pair ", queue_pair);
}

class Description {
 public:
  Description(const std::vector<std::unique_ptr<EndpointWatch>>& endpoints,
              OperationTable& operations)
      : endpoints_(endpoints) {
    for (const auto& watch : endpoints_) {
      node_of_[{watch->nic().index(), watch->queue_pair().number}] =
          graph_.AddNode(NameOf(watch->nic().name, watch->queue_pair().number));
    }
    operations.ForEach([this](const Operation& operation) {
      by_request_[{operation.source, operation.request_id}] = &operation;
    });
  }

  WaitGraph Take() {
    std::size_t node = 0;
    for (const auto& watch : endpoints_) Describe(node++, *watch);
    return std::move(graph_);
  }

 private:
  using Request = std::pair<std::uint32_t, std::uint16_t>;   // QueuePair::serial, request id
  using Endpoint = std::pair<std::uint32_t, std::uint32_t>;  // index of the NIC, queue pair

  // The line that says most comes first: a summary has only that one.
  void Describe(std::size_t node, const EndpointWatch& watch) {
    for (const Posted& posted : watch.retries().refused()) {
      graph_.AddNote(node, absl::StrCat(ToText(posted), " was refused, and not tried again"));
    }
    DescribeSends(node, watch);
    DescribeReceives(node, watch);
    const std::size_t depth = watch.send_depth();
    if (watch.sends().count() >= depth) {
      graph_.AddNote(node, absl::StrCat("all ", depth, " slots of the send queue are taken"));
    }
    const QueuePair& queue_pair = watch.queue_pair();
    DescribeQueue(node, *queue_pair.send_ring);
    if (queue_pair.receive_ring != queue_pair.send_ring) {
      DescribeQueue(node, *queue_pair.receive_ring);
    }
  }

  void DescribeQueue(std::size_t node, const CompletionRing& ring) {
    if (!ring.empty()) {
      graph_.AddNote(
          node, absl::StrCat("completion queue ", ring.number(), " has entries that nobody reads"));
    }
    if (ring.lost() > 0) {
      graph_.AddNote(node, absl::StrCat("completion queue ", ring.number(), " has lost ",
                                        ring.lost(), " entries"));
    }
  }

  void DescribeSends(std::size_t node, const EndpointWatch& watch) {
    std::size_t lines = 0;
    watch.sends().ForEach([&](std::uint16_t slot, const InFlight::Entry& entry) {
      const Operation* operation = Find(watch, slot);
      const std::string state = StateOf(node, watch, operation);
      if (++lines > kMostLines) return;
      graph_.AddNote(node, absl::StrCat(ToText(entry.posted), ", posted after ",
                                        entry.since.count(), " ns, ", state));
    });
    if (lines > kMostLines) {
      graph_.AddNote(node, absl::StrCat("and ", lines - kMostLines, " more that are in flight"));
    }
  }

  void DescribeReceives(std::size_t node, const EndpointWatch& watch) {
    // The device has those that wait. Completions of the others are in the queue, or were lost.
    const std::size_t count =
        std::min(watch.receives().count(), watch.queue_pair().receive.receives());
    if (count == 0) return;
    // No edge: any peer may send, and a receive may be posted long before its program waits for it.
    graph_.AddNote(node, absl::StrCat(count, count == 1 ? " receive waits" : " receives wait",
                                      " for a message"));
  }

  const Operation* Find(const EndpointWatch& watch, std::uint16_t slot) const {
    const std::uint32_t serial = watch.queue_pair().serial;
    const auto first = by_request_.lower_bound({serial, 0});
    const auto found = std::find_if(first, by_request_.end(), [&](const auto& each) {
      return each.first.first != serial || (each.first.second & watch.sends().slot_mask()) == slot;
    });
    return found == by_request_.end() || found->first.first != serial ? nullptr : found->second;
  }

  // And the edge that follows from it.
  std::string StateOf(std::size_t node, const EndpointWatch& watch, const Operation* operation) {
    const QueuePair& queue_pair = watch.queue_pair();
    if (operation == nullptr) {
      if (queue_pair.send.unfetched() > 0) return "has not been served";
      if (!queue_pair.send_ring->empty()) return "has ended, and nobody reads its completion";
      if (watch.unrung() > 0) return "waits for a doorbell: its batch is open";
      // A fault plan may keep one back for good.
      return queue_pair.send_ring->lost() > 0 ? "has ended, but its completion was lost"
                                              : "has ended, but its completion never came";
    }
    if (operation->peer == nullptr) return "has no machine to go to";
    const std::string target = NameOf(operation->peer->name, operation->destination_queue_pair);
    const auto found =
        node_of_.find(Endpoint{operation->peer->index(), operation->destination_queue_pair});
    if (found != node_of_.end() && WaitsForReceive(*operation, found->second)) {
      graph_.AddEdge(node, found->second, "to post a receive");
      return absl::StrCat("finds no receive at ", target);
    }
    return absl::StrCat("is under way to ", target);
  }

  bool WaitsForReceive(const Operation& operation, std::size_t target) const {
    const auto& waiting = endpoints_[target]->queue_pair().waiting;
    return std::find(waiting.begin(), waiting.end(), operation.id) != waiting.end();
  }

  const std::vector<std::unique_ptr<EndpointWatch>>& endpoints_;
  WaitGraph graph_;
  std::map<Endpoint, std::size_t> node_of_;
  std::map<Request, const Operation*> by_request_;
};

}  // namespace

WaitGraph DescribeWaits(const std::vector<std::unique_ptr<EndpointWatch>>& endpoints,
                        OperationTable& operations) {
  return Description(endpoints, operations).Take();
}

}  // namespace drydock::sim
