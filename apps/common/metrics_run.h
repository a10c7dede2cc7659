// The NICs' counters during a run, and how they are shown: the same for the simulator, for EFA and
// for providers whose NICs count nothing (docs/metrics.md).

#ifndef DRYDOCK_APPS_COMMON_METRICS_RUN_H_
#define DRYDOCK_APPS_COMMON_METRICS_RUN_H_

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/metrics/counted_fabric.h"
#include "drydock/fabric/metrics/counters.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps {

// How metrics are shown.
enum class MetricsForm : std::uint8_t {
  kTable,       // all that are not 0
  kFullTable,   // all that are known
  kPrometheus,  // into a file: text exposition format
  kJson,        // into a file
};

// The metrics of one run of a program. Thread-safe.
class MetricsRun {
 public:
  // `path`: of the file, where there is one. `devices`: the folder of sysfs that has the counters.
  explicit MetricsRun(MetricsForm form, std::string path = "", std::string devices = "");

  // Takes the counters of a simulated world that has come to its end. Those of several worlds with
  // the same machines are added up, unless they have labels.
  void Take(const sim::World& world, absl::string_view label = "");

  // Counts the NICs of a real fabric from now on: by the growth of their counters where the kernel
  // shows them, otherwise by the program's requests. Use the fabric that is returned.
  std::unique_ptr<fabric::Fabric> Watch(std::unique_ptr<fabric::Fabric> fabric);

  // By now. NICs in the order in which they were met.
  std::vector<fabric::metrics::NicMetrics> Metrics() const;

  // Prints the table, or writes the file, which it replaces in one step where its folder takes a
  // new one; a new file may be read by everybody. Errors: those of WriteOutput; others: there is a
  // NIC whose counters could not be read any more; those of the others are delivered.
  absl::Status Deliver(std::ostream& out) const;

 private:
  // `unread`: why a NIC that has not gone is not among them.
  std::vector<fabric::metrics::NicMetrics> Read(absl::Status& unread) const;

  const MetricsForm form_;
  const std::string path_;
  const std::string devices_;
  mutable std::mutex mutex_;
  std::vector<fabric::metrics::NicMetrics> taken_;   // of worlds
  std::vector<fabric::metrics::NicMetrics> before_;  // of devices
  std::vector<std::unique_ptr<fabric::metrics::CountedFabric>> counted_;
};

// Takes a world's counters when a run of it ends, however it ends. Dies before the world; `run` may
// be null.
class MetricsAtEnd {
 public:
  MetricsAtEnd(MetricsRun* run, const sim::World& world, std::string label = "")
      : run_(run), world_(world), label_(std::move(label)) {}
  MetricsAtEnd(const MetricsAtEnd&) = delete;
  MetricsAtEnd& operator=(const MetricsAtEnd&) = delete;
  ~MetricsAtEnd() {
    if (run_ != nullptr) run_->Take(world_, label_);
  }

 private:
  MetricsRun* const run_;
  const sim::World& world_;
  const std::string label_;
};

// The table of these metrics: a line for each counter, a column for each NIC that has counted
// something; of more than four, for each machine, its NICs added up. `all`: also counters that are
// 0 everywhere. Below it a line for each NIC that has gone.
std::string FormatMetrics(const std::vector<fabric::metrics::NicMetrics>& nics, bool all);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_METRICS_RUN_H_
