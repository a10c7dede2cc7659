#include "drydock/sim/explore/ddmin.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace drydock::sim::explore {
namespace {

using Part = std::vector<std::size_t>;

// Piece `index` of `pieces`, all as long as each other by one at most.
std::pair<std::size_t, std::size_t> Bounds(std::size_t size, std::size_t pieces,
                                           std::size_t index) {
  return {size * index / pieces, size * (index + 1) / pieces};
}

Part Piece(const Part& part, std::pair<std::size_t, std::size_t> bounds) {
  return Part(part.begin() + static_cast<std::ptrdiff_t>(bounds.first),
              part.begin() + static_cast<std::ptrdiff_t>(bounds.second));
}

Part Without(const Part& part, std::pair<std::size_t, std::size_t> bounds) {
  Part rest = Piece(part, {0, bounds.first});
  rest.insert(rest.end(), part.begin() + static_cast<std::ptrdiff_t>(bounds.second), part.end());
  return rest;
}

}  // namespace

std::vector<std::size_t> Ddmin(std::size_t count, const std::function<bool(const Part&)>& fails,
                               const std::function<bool()>& stop) {
  if (count == 0 || fails({})) return {};
  Part part(count);
  std::iota(part.begin(), part.end(), std::size_t{0});
  std::size_t pieces = 2;
  const auto try_pieces = [&] {
    for (std::size_t i = 0; i < pieces && !stop(); ++i) {
      Part piece = Piece(part, Bounds(part.size(), pieces, i));
      if (!fails(piece)) continue;
      part = std::move(piece);
      pieces = 2;
      return true;
    }
    return false;
  };
  // With two pieces, the rest without one of them is the other one.
  const auto try_rests = [&] {
    for (std::size_t i = 0; pieces > 2 && i < pieces && !stop(); ++i) {
      Part rest = Without(part, Bounds(part.size(), pieces, i));
      if (!fails(rest)) continue;
      part = std::move(rest);
      --pieces;
      return true;
    }
    return false;
  };
  while (part.size() > 1 && !stop()) {
    if (try_pieces() || try_rests()) continue;
    if (pieces >= part.size()) break;
    pieces = std::min(2 * pieces, part.size());
  }
  return part;
}

}  // namespace drydock::sim::explore
