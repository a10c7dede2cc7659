// What a run of all-to-all moves: tokens of every rank, and the experts that they go to.

#ifndef APPS_ALLTOALL_WORKLOAD_H_
#define APPS_ALLTOALL_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu/gda/device/moe_shape.h"
#include "gpu/gda/moe_reference.h"

namespace apps::alltoall {

using gpu::gda::MoeInput;
using gpu::gda::MoeShape;

// How experts are chosen.
enum class Routing : std::uint8_t {
  kUniform,  // any expert is as likely
  kSkewed,   // ranks have different numbers of tokens, one has none; low experts are hot
  kOne,      // all tokens go to expert 0: every rank but one receives nothing
};

// "uniform", "skewed", "one".
absl::string_view Name(Routing routing);
// kInvalidArgument lists the names that exist.
absl::StatusOr<Routing> ParseRouting(absl::string_view name);

struct Workload {
  MoeShape shape;
  Routing routing = Routing::kSkewed;
  std::uint64_t seed = 1;
};

// What a rank has in a round. Tokens that it has not are there with choices that were dropped.
MoeInput InputOf(const Workload& workload, std::uint32_t rank, std::uint32_t round);

// Which token goes to which rank: once, however many of its experts are there.
class Routes {
 public:
  // `tables`: of all ranks, by rank, as peers have written them. kDataLoss: one names an expert that
  // there is not.
  static absl::StatusOr<Routes> Read(const MoeShape& shape,
                                     std::span<const std::span<const std::uint32_t>> tables);

  // The tokens of `source` that `target` gets, in their order.
  const std::vector<std::uint32_t>& Tokens(std::size_t source, std::size_t target) const {
    return tokens_[source * ranks_ + target];
  }
  // Where the answer of `target` to each of these belongs at the source: its number among the
  // answers to the token, counted from token * Slots().
  const std::vector<std::uint32_t>& Answers(std::size_t source, std::size_t target) const {
    return answers_[source * ranks_ + target];
  }
  // Of one token, at most.
  static std::uint32_t Slots(const MoeShape& shape);

  // Rows that other ranks send to `rank`; that it sends to others, and gets answers to.
  std::uint32_t Incoming(std::size_t rank) const;
  std::uint32_t Outgoing(std::size_t rank) const;
  // Of all that others send to `target`: the number of the first row of `source`'s. And of all
  // answers that come to `source`: of `target`'s.
  std::uint32_t FirstRow(std::size_t source, std::size_t target) const;
  std::uint32_t FirstAnswer(std::size_t source, std::size_t target) const;

 private:
  explicit Routes(std::size_t ranks)
      : ranks_(ranks), tokens_(ranks * ranks), answers_(ranks * ranks) {}

  std::uint32_t Count(std::size_t source, std::size_t target) const {
    return source == target ? 0 : static_cast<std::uint32_t>(Tokens(source, target).size());
  }

  std::size_t ranks_;
  std::vector<std::vector<std::uint32_t>> tokens_;
  std::vector<std::vector<std::uint32_t>> answers_;
};

}  // namespace apps::alltoall

#endif  // APPS_ALLTOALL_WORKLOAD_H_
