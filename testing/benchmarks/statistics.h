// What is said about a set of samples: medians and quartiles, because one preempted sample must not
// move a figure.

#ifndef DRYDOCK_TESTING_BENCHMARKS_STATISTICS_H_
#define DRYDOCK_TESTING_BENCHMARKS_STATISTICS_H_

#include <vector>

namespace drydock::bench {

// Of one set of samples, in the samples' unit.
struct Summary {
  double median = 0;
  double minimum = 0;
  double lower_quartile = 0;
  double upper_quartile = 0;
};

// How two things that were measured in the same rounds compare: of the ratios of the two samples of
// each round, and not of medians, so that a machine that was slower for half of the rounds changes
// nothing.
struct Ratio {
  double median = 0;          // the quoted figure
  double lower_quartile = 0;  // how far to trust it
  double upper_quartile = 0;
};

// The value below which `fraction` of the samples lie, interpolated between the two nearest.
// REQUIRES: not empty; 0 <= fraction <= 1.
double Quantile(std::vector<double> samples, double fraction);

// REQUIRES: not empty.
Summary Summarize(const std::vector<double>& samples);

// `numerator` over `denominator`. REQUIRES: as many samples in both, at least one; no zero in
// `denominator`. Sample i of both is of round i.
Ratio Compare(const std::vector<double>& numerator, const std::vector<double>& denominator);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_STATISTICS_H_
