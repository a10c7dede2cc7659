#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "drydock/fabric/metrics/formats.h"

namespace drydock::fabric::metrics {
namespace {

std::string Text(std::string_view text) { return std::string(text); }

// Prometheus takes [a-zA-Z_:][a-zA-Z0-9_:]*; the prefix is the beginning.
std::string FamilyName(std::string_view counter) {
  std::string name = absl::StrCat("efa_", Text(counter), "_total");
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

std::string Escaped(const std::string& label) {
  return absl::StrReplaceAll(label, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

std::string Labels(const NicMetrics& nic) {
  return absl::StrCat("{node=\"", Escaped(nic.node), "\",nic=\"", Escaped(nic.nic), "\",source=\"",
                      Escaped(nic.source), "\"}");
}

struct Family {
  std::string name;
  std::string help;
  std::vector<std::pair<std::string, std::uint64_t>> samples;  // labels, value

  void Add(const std::string& labels, std::uint64_t value) {
    for (auto& [known, sum] : samples) {
      if (known == labels) {
        sum += value;
        return;
      }
    }
    samples.emplace_back(labels, value);
  }
};

// In the order in which the counters come: the table's, then others. A family stands together.
std::vector<Family> FamiliesOf(std::span<const NicMetrics> nics) {
  std::vector<CounterValue> names;
  for (const NicMetrics& nic : nics) {
    names.insert(names.end(), nic.counters.begin(), nic.counters.end());
  }
  Order(names);
  std::vector<Family> families;
  std::map<std::string, std::size_t> place;
  for (const CounterValue& counter : names) {
    const std::string name = FamilyName(counter.name);
    if (!place.emplace(name, families.size()).second) continue;
    const CounterInfo* info = FindCounter(counter.name);
    families.push_back({name, info == nullptr ? "Not known here." : Text(info->help), {}});
  }
  for (const NicMetrics& nic : nics) {
    for (const CounterValue& counter : nic.counters) {
      families[place.at(FamilyName(counter.name))].Add(Labels(nic), counter.value);
    }
  }
  return families;
}

// One sample a NIC: of several with the same labels, whether all are there.
std::string UpOf(std::span<const NicMetrics> nics) {
  std::vector<std::pair<std::string, bool>> samples;
  for (const NicMetrics& nic : nics) {
    const std::string labels = Labels(nic);
    const auto known = std::find_if(samples.begin(), samples.end(),
                                    [&](const auto& sample) { return sample.first == labels; });
    if (known == samples.end()) {
      samples.emplace_back(labels, !nic.gone);
    } else {
      known->second = known->second && !nic.gone;
    }
  }
  if (samples.empty()) return "";
  std::string text =
      "# HELP efa_nic_up Whether the NIC is there: 0 after it has died or was taken away.\n"
      "# TYPE efa_nic_up gauge\n";
  for (const auto& [labels, up] : samples) {
    absl::StrAppend(&text, "efa_nic_up", labels, up ? " 1\n" : " 0\n");
  }
  return text;
}

}  // namespace

std::string ToPrometheus(std::span<const NicMetrics> nics) {
  std::string text = UpOf(nics);
  for (const Family& family : FamiliesOf(nics)) {
    absl::StrAppend(&text, "# HELP ", family.name, " ", family.help, "\n# TYPE ", family.name,
                    " counter\n");
    for (const auto& [labels, value] : family.samples) {
      absl::StrAppend(&text, family.name, labels, " ", value, "\n");
    }
  }
  return text;
}

}  // namespace drydock::fabric::metrics
