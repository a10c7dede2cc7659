// The software completion queue, which the program reads. The device's own queues lie below, one
// for each endpoint, and are the protocol's.

#ifndef DRYDOCK_SIM_RDM_COMPLETION_SINK_H_
#define DRYDOCK_SIM_RDM_COMPLETION_SINK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"

namespace drydock::sim::rdm {

// Something that moves only when a queue is read: an endpoint.
class ProgressSource {
 public:
  virtual ~ProgressSource() = default;
  // Returns kOverrun once when the device's queue lost entries, else kOk.
  virtual fabric::ErrorCode MakeProgress() = 0;
  // The queue is being read: requests that have ended make room for new ones.
  virtual void FreeSlots() = 0;
  // True when it was closed, and has told its peers: it may go.
  virtual bool HasLeft() const { return false; }
  // The device's words for a failure.
  virtual std::string DeviceErrorText(const fabric::Completion& completion) = 0;
};

// Never loses an entry: as at the provider, entries over its depth go to a list behind the ring
// (ofiwg/libfabric prov/util/src/util_cq.c). Only the device's queue overruns.
class CompletionSink {
 public:
  // `owner` names the endpoint.
  void Push(std::uint64_t owner, const fabric::Completion& completion) {
    entries_.push_back({owner, completion});
  }

  // Takes the oldest entry; false when there is none.
  bool Pop(fabric::Completion& completion) {
    if (entries_.empty()) return false;
    completion = entries_.front().completion;
    entries_.pop_front();
    return true;
  }

  // Forgets the entries of an endpoint that is closed.
  void Drop(std::uint64_t owner) {
    std::erase_if(entries_, [owner](const Entry& entry) { return entry.owner == owner; });
  }

  void AddSource(ProgressSource& source) {
    RemoveSource(source);
    sources_.push_back(&source);
  }
  void RemoveSource(ProgressSource& source) { std::erase(sources_, &source); }
  const std::vector<ProgressSource*>& sources() const { return sources_; }

 private:
  struct Entry {
    std::uint64_t owner;
    fabric::Completion completion;
  };

  std::deque<Entry> entries_;
  std::vector<ProgressSource*> sources_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_COMPLETION_SINK_H_
