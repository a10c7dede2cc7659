#include "nlohmann/json.hpp"

#include "drydock/fabric/metrics/formats.h"

namespace drydock::fabric::metrics {

std::string ToJson(std::span<const NicMetrics> nics) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const NicMetrics& nic : nics) {
    Json counters = Json::object();
    for (const CounterValue& counter : nic.counters) counters[counter.name] = counter.value;
    all.push_back({{"node", nic.node},
                   {"nic", nic.nic},
                   {"source", nic.source},
                   {"up", !nic.gone},
                   {"counters", std::move(counters)}});
  }
  const Json json = {{"nics", std::move(all)}};
  // Names of sysfs need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace drydock::fabric::metrics
