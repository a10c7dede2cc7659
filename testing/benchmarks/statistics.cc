#include "drydock/testing/benchmarks/statistics.h"

#include <algorithm>
#include <cstddef>

#include "drydock/coro/check.h"

namespace drydock::bench {

double Quantile(std::vector<double> samples, double fraction) {
  DD_CHECK(!samples.empty(), "a quantile of nothing");
  DD_CHECK(fraction >= 0 && fraction <= 1, "a quantile outside of the samples");
  std::sort(samples.begin(), samples.end());
  const double position = fraction * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  const double weight = position - static_cast<double>(below);
  return samples[below] + weight * (samples[above] - samples[below]);
}

Summary Summarize(const std::vector<double>& samples) {
  return {.median = Quantile(samples, 0.5),
          .minimum = Quantile(samples, 0),
          .lower_quartile = Quantile(samples, 0.25),
          .upper_quartile = Quantile(samples, 0.75)};
}

Ratio Compare(const std::vector<double>& numerator, const std::vector<double>& denominator) {
  DD_CHECK(numerator.size() == denominator.size(), "comparing samples of different rounds");
  std::vector<double> ratios;
  ratios.reserve(numerator.size());
  for (std::size_t i = 0; i < numerator.size(); ++i) {
    ratios.push_back(numerator[i] / denominator[i]);
  }
  return {.median = Quantile(ratios, 0.5),
          .lower_quartile = Quantile(ratios, 0.25),
          .upper_quartile = Quantile(ratios, 0.75)};
}

}  // namespace drydock::bench
