#include "drydock/apps/alltoall/workload.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/keyed_random.h"

namespace drydock::apps::alltoall {
namespace {

using gpu::gda::kNoExpert;

struct NamedRouting {
  Routing routing;
  absl::string_view name;
};
constexpr std::array<NamedRouting, 3> kRoutings = {
    {{Routing::kUniform, "uniform"}, {Routing::kSkewed, "skewed"}, {Routing::kOne, "one"}}};

// The number of tokens that a rank has. With skewed routing one rank has none and the next has all.
std::uint32_t TokensOf(const Workload& workload, std::uint32_t rank, std::uint64_t key) {
  const MoeShape& shape = workload.shape;
  if (workload.routing != Routing::kSkewed || shape.ranks == 1) return shape.tokens;
  const auto empty = static_cast<std::uint32_t>(coro::Below(coro::Combine(key, 1), shape.ranks));
  if (rank == empty) return 0;
  if (rank == (empty + 1) % shape.ranks) return shape.tokens;
  const std::uint64_t word = coro::Combine(coro::Combine(key, 2), rank);
  return static_cast<std::uint32_t>(coro::Below(word, shape.tokens + std::uint64_t{1}));
}

}  // namespace

absl::string_view Name(Routing routing) { return kRoutings[static_cast<int>(routing)].name; }

absl::StatusOr<Routing> ParseRouting(absl::string_view name) {
  for (const NamedRouting& one : kRoutings) {
    if (one.name == name) return one.routing;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("routing '", name, "' does not exist: uniform, skewed or one"));
}

MoeInput InputOf(const Workload& workload, std::uint32_t rank, std::uint32_t round) {
  const MoeShape& shape = workload.shape;
  const std::uint64_t key = coro::Combine(workload.seed, round);
  MoeInput input = gpu::gda::DrawMoeInput(shape, rank, key);
  const std::uint64_t experts = std::uint64_t{shape.ranks} * shape.experts_per_rank;
  for (std::uint32_t& expert : input.table) {
    // The product of two draws from [0, 1) is below 1/4 in 3 of 5 cases.
    if (workload.routing == Routing::kSkewed) {
      const std::uint64_t other = coro::Below(coro::Combine(key, expert), experts);
      expert = static_cast<std::uint32_t>(expert * other / experts);
    } else if (workload.routing == Routing::kOne) {
      expert = 0;
    }
  }
  const std::uint32_t tokens = TokensOf(workload, rank, key);
  std::fill(input.table.begin() + std::size_t{tokens} * shape.top_k, input.table.end(), kNoExpert);
  return input;
}

std::uint32_t Routes::Slots(const MoeShape& shape) { return std::min(shape.top_k, shape.ranks); }

absl::StatusOr<Routes> Routes::Read(const MoeShape& shape, std::size_t self,
                                    std::span<const std::span<const std::uint32_t>> tables) {
  Routes routes(self, shape.ranks);
  std::vector<std::uint32_t> ranks;  // of one token
  for (std::size_t source = 0; source < tables.size(); ++source) {
    for (std::uint32_t token = 0; token < shape.tokens; ++token) {
      ranks.clear();
      for (std::uint32_t k = 0; k < shape.top_k; ++k) {
        const std::uint32_t expert = tables[source][std::size_t{token} * shape.top_k + k];
        if (expert == kNoExpert) continue;
        const std::uint32_t rank = shape.RankOf(expert);
        if (rank >= shape.ranks) {
          return absl::DataLossError(absl::StrCat("read the table of rank ", source, ": token ",
                                                  token, " goes to expert ", expert,
                                                  ", which is none"));
        }
        if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) continue;
        const auto slot = static_cast<std::uint32_t>(ranks.size());
        routes.Add(source, rank, token, token * Slots(shape) + slot);
        ranks.push_back(rank);
      }
    }
  }
  return routes;
}

void Routes::Add(std::size_t source, std::size_t target, std::uint32_t token,
                 std::uint32_t answer) {
  for (const auto& [mine, way] :
       {std::pair(source == self_, &to_[target]), std::pair(target == self_, &from_[source])}) {
    if (!mine) continue;
    way->tokens.push_back(token);
    way->answers.push_back(answer);
  }
  if (source == target) return;  // it is copied, and has no number
  if (source == self_) ++outgoing_;
  if (target == self_) ++incoming_;
  // Ranks before this one number theirs first.
  if (source < self_) ++to_[target].first;
  if (target < self_) ++from_[source].first;
}

}  // namespace drydock::apps::alltoall
