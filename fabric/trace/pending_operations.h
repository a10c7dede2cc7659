// The operations whose completions a queue has not shown yet, by the contexts that they come with.

#ifndef DRYDOCK_FABRIC_TRACE_PENDING_OPERATIONS_H_
#define DRYDOCK_FABRIC_TRACE_PENDING_OPERATIONS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::trace {

// The signalled requests in flight that a queue shares with its endpoints; either may be destroyed
// first. An endpoint adds each signalled request that it posts, and the queue takes it when it
// reads the completion: so a completion gets the number of its operation, which the contract does
// not transport. Threads: one at a time, as the queue and its endpoints.
class PendingOperations {
 public:
  struct Pending {
    std::uint64_t op = 0;
    std::uint32_t endpoint = 0;  // its id
    bool multi = false;          // takes messages until its buffer is released
  };

  // A request of this kind was accepted. Requests with equal contexts are kept in their order.
  void Add(Context context, OperationKind kind, const Pending& pending) {
    Entry& entry = entries_[KeyOf(context, kind)];
    if (entry.first.op == 0) {
      entry.first = pending;
    } else {
      entry.others.push_back(pending);
    }
  }

  // The number of the operation that this is the completion of; 0: it is not known.
  std::uint64_t Take(const Completion& completion) {
    if (!completion.context.has_value()) return 0;
    const auto found = entries_.find(KeyOf(*completion.context, completion.kind));
    if (found == entries_.end()) return 0;
    Entry& entry = found->second;
    const std::uint64_t op = entry.first.op;
    if (entry.first.multi && completion.ok() && !completion.buffer_released) return op;
    if (entry.others.empty()) {
      entries_.erase(found);
    } else {
      entry.first = entry.others.front();
      entry.others.erase(entry.others.begin());
    }
    return op;
  }

  // The endpoint closes: nothing more comes.
  void Forget(std::uint32_t endpoint) {
    absl::erase_if(entries_, [endpoint](auto& item) {
      Entry& entry = item.second;
      std::erase_if(entry.others,
                    [endpoint](const Pending& other) { return other.endpoint == endpoint; });
      if (entry.first.endpoint != endpoint) return false;
      if (entry.others.empty()) return true;
      entry.first = entry.others.front();
      entry.others.erase(entry.others.begin());
      return false;
    });
  }

 private:
  using Key = std::pair<std::uint64_t, OperationKind>;
  // A context names one operation of a kind, nearly always.
  struct Entry {
    Pending first;
    std::vector<Pending> others;
  };

  // A peer's write may take a receive, and comes with its context.
  static Key KeyOf(Context context, OperationKind kind) {
    if (kind == OperationKind::kRemoteWrite) kind = OperationKind::kReceive;
    return {static_cast<std::uint64_t>(context), kind};
  }

  absl::flat_hash_map<Key, Entry> entries_;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_PENDING_OPERATIONS_H_
