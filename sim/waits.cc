// Who waits for whom: what the devices know of the requests that programs have posted and not
// heard of.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/world.h"

namespace sim {
namespace {

// Of one kind, for one endpoint: a person reads the first few.
constexpr std::size_t kMostLines = 8;

std::string NameOf(const std::string& nic, std::uint32_t queue_pair) {
  return absl::StrCat(nic, " queue pair ", queue_pair);
}

class Description {
 public:
  explicit Description(World& world) : world_(world) {
    for (const auto& watch : world.checks().endpoints()) {
      const WatchedEndpoint& endpoint = watch->endpoint();
      node_of_[{endpoint.nic, endpoint.number}] =
          graph_.AddNode(NameOf(endpoint.where, endpoint.number));
    }
    world.operations().ForEach([this](const Operation& operation) {
      const Key key{operation.initiator, operation.queue_pair};
      by_request_[{key, operation.request_id}] = &operation;
    });
  }

  WaitGraph Take() {
    std::size_t node = 0;
    for (const auto& watch : world_.checks().endpoints()) Describe(node++, *watch);
    return std::move(graph_);
  }

 private:
  using Key = std::pair<const Nic*, std::uint32_t>;

  // The line that says most comes first: a summary has only that one.
  void Describe(std::size_t node, const EndpointWatch& watch) {
    for (const Posted& posted : watch.retries().refused()) {
      graph_.AddNote(node, absl::StrCat(ToText(posted), " was refused, and not tried again"));
    }
    DescribeSends(node, watch);
    DescribeReceives(node, watch);
    const std::size_t depth = watch.endpoint().send_depth;
    if (watch.sends().count() >= depth) {
      graph_.AddNote(node, absl::StrCat("all ", depth, " slots of the send queue are taken"));
    }
    const QueuePair& queue_pair = *watch.endpoint().queue_pair;
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
    const std::size_t count = watch.receives().count();
    if (count == 0) return;
    const bool empty = watch.endpoint().queue_pair->receive.posted() == 0;
    if (empty) return;  // their completions are in the queue, or were lost
    graph_.AddNote(node, absl::StrCat(count, count == 1 ? " receive waits" : " receives wait",
                                      " for a message"));
    AwaitMessage(node, watch);
  }

  // Whoever waits for a message waits for anybody; where all others wait, too, nobody will send.
  void AwaitMessage(std::size_t node, const EndpointWatch& watch) {
    std::size_t other = 0;
    for (const auto& each : world_.checks().endpoints()) {
      const std::size_t to = other++;
      const bool waits = each->receives().count() > 0 && each->sends().count() == 0;
      if (each.get() != &watch && waits && watch.sends().count() == 0) {
        graph_.AddEdge(node, to, "to send a message");
      }
    }
  }

  const Operation* Find(const EndpointWatch& watch, std::uint16_t slot) const {
    const Key key{watch.endpoint().nic, watch.endpoint().number};
    const auto first = by_request_.lower_bound({key, 0});
    const auto found = std::find_if(first, by_request_.end(), [&](const auto& each) {
      return each.first.first != key || (each.first.second & watch.sends().slot_mask()) == slot;
    });
    return found == by_request_.end() || found->first.first != key ? nullptr : found->second;
  }

  // And the edge that follows from it.
  std::string StateOf(std::size_t node, const EndpointWatch& watch, const Operation* operation) {
    const QueuePair& queue_pair = *watch.endpoint().queue_pair;
    if (operation == nullptr) {
      if (queue_pair.send.unfetched() > 0) return "has not been served";
      if (!queue_pair.send_ring->empty()) return "has ended, and nobody reads its completion";
      // A fault plan may keep one back for good.
      return queue_pair.send_ring->lost() > 0 ? "has ended, but its completion was lost"
                                              : "has ended, but its completion never came";
    }
    if (operation->peer == nullptr) return "has no machine to go to";
    const std::string target = NameOf(operation->peer->name(), operation->destination_queue_pair);
    const auto found = node_of_.find(Key{operation->peer, operation->destination_queue_pair});
    if (found != node_of_.end() && WaitsForReceive(*operation, found->second)) {
      graph_.AddEdge(node, found->second, "to post a receive");
      return absl::StrCat("finds no receive at ", target);
    }
    return absl::StrCat("is under way to ", target);
  }

  bool WaitsForReceive(const Operation& operation, std::size_t target) const {
    const auto& waiting = world_.checks().endpoints()[target]->endpoint().queue_pair->waiting;
    return std::any_of(waiting.begin(), waiting.end(),
                       [&](const OperationId id) { return id.Pack() == operation.id.Pack(); });
  }

  struct RequestLess {
    using Request = std::pair<Key, std::uint16_t>;
    bool operator()(const Request& a, const Request& b) const {
      const auto order = [](const Request& request) {
        return std::make_pair(std::make_pair(request.first.first->index(), request.first.second),
                              request.second);
      };
      return order(a) < order(b);
    }
  };
  struct KeyLess {
    bool operator()(const Key& a, const Key& b) const {
      return std::make_pair(a.first->index(), a.second) <
             std::make_pair(b.first->index(), b.second);
    }
  };

  World& world_;
  WaitGraph graph_;
  std::map<Key, std::size_t, KeyLess> node_of_;
  std::map<RequestLess::Request, const Operation*, RequestLess> by_request_;
};

}  // namespace

WaitGraph World::DescribeWaits() { return Description(*this).Take(); }

}  // namespace sim
