// The implementation of fabric::Counter on this fabric.

#ifndef DRYDOCK_SIM_RDM_COUNTERS_H_
#define DRYDOCK_SIM_RDM_COUNTERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/sim/rdm/completion_sink.h"

namespace drydock::sim::rdm {

// Two numbers that the software raises with each completion that it reports: a peer's write without
// an immediate, or its read, makes none (ofiwg/libfabric prov/efa/src/rdm/efa_rdm_ope.c,
// efa_rdm_ope_handle_recv_completed and efa_rdm_ope_handle_send_completed). Not thread-safe.
class CounterCore {
 public:
  void Count(bool ok) { ++(ok ? value_ : errors_); }

  // In all, after progress on the endpoints that raise it: the numbers move only then.
  std::uint64_t Read() {
    MakeProgress();
    return value_;
  }
  std::uint64_t ReadErrors() {
    MakeProgress();
    return errors_;
  }
  void Set(std::uint64_t value) { value_ = value; }
  void Add(std::uint64_t value) { value_ += value; }

  // An endpoint that raises it.
  void AddSource(ProgressSource& source) {
    RemoveSource(source);
    sources_.push_back(&source);
  }
  void RemoveSource(ProgressSource& source) { std::erase(sources_, &source); }

 private:
  void MakeProgress() {
    for (ProgressSource* source : sources_) source->MakeProgress();
  }

  std::uint64_t value_ = 0;
  std::uint64_t errors_ = 0;
  std::vector<ProgressSource*> sources_;
};

// Those of one endpoint, as fabric::CounterBindings; null: not counted.
struct Counters {
  std::shared_ptr<CounterCore> sends, receives, writes, reads, remote_writes, remote_reads;

  // Calls `visit` for each that is there; one that serves several kinds comes several times.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto* counter :
         {&sends, &receives, &writes, &reads, &remote_writes, &remote_reads}) {
      if (*counter != nullptr) visit(**counter);
    }
  }
};

// Raises a counter that may not be there.
inline void Count(const std::shared_ptr<CounterCore>& counter, bool ok) {
  if (counter != nullptr) counter->Count(ok);
}

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_COUNTERS_H_
