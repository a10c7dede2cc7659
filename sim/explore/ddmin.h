// The smallest part of a list that still does what the whole list does: delta debugging (Zeller,
// Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 28(2), 2002).

#ifndef DRYDOCK_SIM_EXPLORE_DDMIN_H_
#define DRYDOCK_SIM_EXPLORE_DDMIN_H_

#include <cstddef>
#include <functional>
#include <vector>

namespace drydock::sim::explore {

// `fails`: whether these elements of a list of `count`, as rising indices, still fail. It fails for
// all of them. Returns a part that fails and in which no single element can be spared; none at all
// where nothing is needed. Asks about count squared times at worst, and a few times the logarithm
// of count for each element that is left when elements act alone. `stop`: nothing more is asked;
// the smallest part until then is the answer.
std::vector<std::size_t> Ddmin(
    std::size_t count, const std::function<bool(const std::vector<std::size_t>& part)>& fails,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_DDMIN_H_
