#include "drydock/gpu/gda/moe_reference.h"

#include <cstddef>

#include "drydock/coro/keyed_random.h"

namespace drydock::gpu::gda {

MoeInput DrawMoeInput(const MoeShape& shape, std::uint32_t rank, std::uint64_t seed) {
  std::uint64_t drawn = 0;
  const auto draw = [&] { return coro::Combine(coro::Combine(seed, rank), drawn++); };
  MoeInput input;
  input.tokens.resize(std::size_t{shape.tokens} * shape.words);
  for (std::uint32_t& word : input.tokens) word = static_cast<std::uint32_t>(draw());
  input.table.resize(shape.choices());
  const std::uint64_t experts = std::uint64_t{shape.ranks} * shape.experts_per_rank;
  for (std::uint32_t& expert : input.table) {
    expert = static_cast<std::uint32_t>(coro::Below(draw(), experts));
  }
  input.weights.resize(shape.choices());
  for (std::uint32_t& weight : input.weights) weight = static_cast<std::uint32_t>(draw());
  return input;
}

std::vector<std::uint32_t> MoeResult(const MoeShape& shape, const MoeInput& input) {
  std::vector<std::uint32_t> result(input.tokens.size());
  for (std::uint32_t choice = 0; choice < shape.choices(); ++choice) {
    if (input.table[choice] == kNoExpert) continue;
    const std::size_t token = choice / shape.top_k * std::size_t{shape.words};
    for (std::uint32_t i = 0; i < shape.words; ++i) {
      result[token + i] +=
          input.weights[choice] * Expert(input.table[choice], i, input.tokens[token + i]);
    }
  }
  return result;
}

}  // namespace drydock::gpu::gda
