#include "drydock/apps/common/metrics_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/host_name.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/metrics/formats.h"
#include "drydock/fabric/metrics/hw_counters.h"
#include "drydock/sim/world/metrics.h"

namespace drydock::apps {
namespace {

using fabric::metrics::CounterValue;
using fabric::metrics::NicMetrics;

constexpr std::size_t kMostColumns = 4;

std::string Text(std::string_view text) { return std::string(text); }

bool IsSame(const NicMetrics& a, const NicMetrics& b) {
  return a.node == b.node && a.nic == b.nic && a.source == b.source;
}

// The metrics of a NIC that could not be read any more: its counts are not known.
NicMetrics GoneFrom(const NicMetrics& before) {
  NicMetrics gone = before;
  gone.counters.clear();
  gone.gone = true;
  return gone;
}

void AddCounters(const NicMetrics& more, NicMetrics& sum) {
  for (const CounterValue& counter : more.counters) {
    const auto known =
        std::find_if(sum.counters.begin(), sum.counters.end(),
                     [&](const CounterValue& other) { return other.name == counter.name; });
    if (known == sum.counters.end()) {
      sum.counters.push_back(counter);
    } else {
      known->value += counter.value;
    }
  }
  Order(sum.counters);
}

void AddTo(NicMetrics nic, std::vector<NicMetrics>& all) {
  const auto known = std::find_if(all.begin(), all.end(),
                                  [&nic](const NicMetrics& other) { return IsSame(nic, other); });
  if (known == all.end()) {
    all.push_back(std::move(nic));
  } else {
    AddCounters(nic, *known);
    known->gone = known->gone || nic.gone;
  }
}

bool HasCounted(const NicMetrics& nic) {
  return std::any_of(nic.counters.begin(), nic.counters.end(),
                     [](const CounterValue& counter) { return counter.value > 0; });
}

std::string WordsFor(const std::string& source) {
  if (source == fabric::metrics::kSimulated) return "simulated NICs";
  if (source == fabric::metrics::kDevice) return "the NICs, since the program opened them";
  return "the program: its NICs count nothing";
}

// "simulated NICs", or several: which may be where only some NICs of a machine count.
std::string CountedBy(const std::vector<NicMetrics>& columns) {
  std::vector<std::string> words;
  for (const NicMetrics& column : columns) {
    const std::string one = WordsFor(column.source);
    if (std::find(words.begin(), words.end(), one) == words.end()) words.push_back(one);
  }
  return absl::StrJoin(words, ", and by ");
}

// The columns of the table.
std::vector<NicMetrics> ColumnsOf(const std::vector<NicMetrics>& nics) {
  std::vector<NicMetrics> columns;
  for (const NicMetrics& nic : nics) {
    if (HasCounted(nic)) columns.push_back(nic);
  }
  if (columns.size() <= kMostColumns) return columns;
  std::vector<NicMetrics> nodes;
  std::vector<std::size_t> sizes;
  for (NicMetrics& nic : columns) {
    nic.nic.clear();
    const std::size_t before = nodes.size();
    const auto at = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const NicMetrics& node) { return IsSame(node, nic); });
    const auto place = static_cast<std::size_t>(at - nodes.begin());
    AddTo(std::move(nic), nodes);
    if (nodes.size() > before) sizes.push_back(0);
    ++sizes[place];
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].nic = FormatCount(sizes[i], "NIC");
  }
  return nodes;
}

// A line for each NIC that is not there any more.
std::string GoneLines(const std::vector<NicMetrics>& nics) {
  std::string lines;
  for (const NicMetrics& nic : nics) {
    if (!nic.gone) continue;
    absl::StrAppend(&lines, "gone: ", nic.node, nic.node.empty() ? "" : ": ", nic.nic,
                    nic.counters.empty() ? ", and with it what it has counted\n"
                                         : ": its values are those until then\n");
  }
  return lines;
}

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  const bool is_new = access(path.c_str(), F_OK) != 0;
  RETURN_IF_ERROR(WriteOutput("metrics", path, [text](std::ostream& out) { out << text; }));
  // Others are to read it: a collector runs as another user.
  if (!is_new || chmod(path.c_str(), 0644) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("--metrics=", path, ": others may not read it: ", std::strerror(errno)));
}

}  // namespace

MetricsRun::MetricsRun(MetricsForm form, std::string path, std::string devices)
    : form_(form),
      path_(std::move(path)),
      devices_(devices.empty() ? Text(fabric::metrics::kSysfsDevices) : std::move(devices)) {}

void MetricsRun::Take(const sim::World& world, absl::string_view label) {
  const std::lock_guard lock(mutex_);
  for (NicMetrics& nic : sim::MetricsOf(world)) {
    if (!label.empty()) nic.node = absl::StrCat(label, "/", nic.node);
    AddTo(std::move(nic), taken_);
  }
}

std::unique_ptr<fabric::Fabric> MetricsRun::Watch(std::unique_ptr<fabric::Fabric> fabric) {
  const std::lock_guard lock(mutex_);
  bool counts = false;
  for (const fabric::NicInfo& nic : fabric->nics()) {
    absl::StatusOr<NicMetrics> now = fabric::metrics::ReadHardwareCounters(nic.name, devices_);
    if (!now.ok()) continue;
    counts = true;
    now->node = HostName();
    const bool watched = std::any_of(before_.begin(), before_.end(),
                                     [&](const NicMetrics& other) { return IsSame(other, *now); });
    if (!watched) before_.push_back(*std::move(now));
  }
  if (counts) return fabric;  // nothing stands in its way
  counted_.push_back(std::make_unique<fabric::metrics::CountedFabric>(std::move(fabric)));
  return counted_.back()->Take();
}

std::vector<NicMetrics> MetricsRun::Metrics() const {
  absl::Status unread;
  return Read(unread);
}

std::vector<NicMetrics> MetricsRun::Read(absl::Status& unread) const {
  const std::lock_guard lock(mutex_);
  std::vector<NicMetrics> all = taken_;
  for (const NicMetrics& before : before_) {
    absl::StatusOr<NicMetrics> now = fabric::metrics::ReadHardwareCounters(before.nic, devices_);
    if (!now.ok()) {
      if (absl::IsNotFound(now.status())) {
        all.push_back(GoneFrom(before));
      } else {
        unread.Update(now.status());
      }
      continue;
    }
    now->node = before.node;
    all.push_back(Since(before, *now));
  }
  for (const auto& counted : counted_) {
    for (NicMetrics& nic : counted->Metrics()) {
      nic.node = HostName();
      AddTo(std::move(nic), all);
    }
  }
  return all;
}

absl::Status MetricsRun::Deliver(std::ostream& out) const {
  absl::Status unread, status;
  const std::vector<NicMetrics> nics = Read(unread);
  switch (form_) {
    case MetricsForm::kTable:
    case MetricsForm::kFullTable:
      out << FormatMetrics(nics, form_ == MetricsForm::kFullTable) << std::flush;
      break;
    case MetricsForm::kPrometheus:
      status = WriteFile(path_, fabric::metrics::ToPrometheus(nics));
      break;
    case MetricsForm::kJson:
      status = WriteFile(path_, fabric::metrics::ToJson(nics));
      break;
  }
  status.Update(unread);
  return status;
}

std::string FormatMetrics(const std::vector<NicMetrics>& nics, bool all) {
  const std::vector<NicMetrics> columns = ColumnsOf(nics);
  const std::string gone = GoneLines(nics);
  if (columns.empty()) return absl::StrCat("\nmetrics: nothing was counted\n", gone);
  NicMetrics sum;
  for (const NicMetrics& column : columns) AddCounters(column, sum);
  std::vector<std::vector<std::string>> rows = {{"counter", "unit"}};
  for (const NicMetrics& column : columns) {
    rows.front().push_back(column.node.empty() ? column.nic
                                               : absl::StrCat(column.node, ": ", column.nic));
  }
  for (const CounterValue& counter : sum.counters) {
    if (counter.value == 0 && !all) continue;
    const auto* info = fabric::metrics::FindCounter(counter.name);
    rows.push_back({counter.name, info == nullptr ? "-" : Text(info->unit)});
    for (const NicMetrics& column : columns) {
      const CounterValue* value = Find(column, counter.name);
      rows.back().push_back(value == nullptr ? "-" : absl::StrCat(value->value));
    }
  }
  return absl::StrCat("\nmetrics: counted by ", CountedBy(columns),
                      all ? "" : " (--metrics=all shows zeros, too)", "\n\n", FormatTable(rows),
                      gone);
}

}  // namespace drydock::apps
