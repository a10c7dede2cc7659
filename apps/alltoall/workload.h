// What a run of all-to-all moves: tokens of every rank, and the experts that they go to.

#ifndef DRYDOCK_APPS_ALLTOALL_WORKLOAD_H_
#define DRYDOCK_APPS_ALLTOALL_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/gpu/gda/device/moe_shape.h"
#include "drydock/gpu/gda/moe_reference.h"

namespace drydock::apps::alltoall {

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
  std::uint32_t rounds = 1;
};

// What a rank has in a round. Tokens that it has not are there with choices that were dropped.
MoeInput InputOf(const Workload& workload, std::uint32_t rank, std::uint32_t round);

// Which tokens go where, as one rank has to know it. A token goes once to each rank that has one of
// its experts, itself included.
class Routes {
 public:
  // What goes one way between this rank and another one.
  struct Way {
    std::vector<std::uint32_t> tokens;  // the sender's, in their order
    // Where the answer to each of these belongs at the sender: its number among the answers to the
    // token, counted from token * Slots().
    std::vector<std::uint32_t> answers;
    // The first one's number among all of the receiver's: of the rows that other ranks send to it
    // (To), or of the answers that others give it (From).
    std::uint32_t first = 0;
  };

  // Of rank `self`. `tables`: of all ranks, by rank, as peers have written them. kDataLoss: one names
  // an expert that there is not.
  static absl::StatusOr<Routes> Read(const MoeShape& shape, std::size_t self,
                                     std::span<const std::span<const std::uint32_t>> tables);

  // The tokens that `peer` gets, and that it sends.
  const Way& To(std::size_t peer) const { return to_[peer]; }
  const Way& From(std::size_t peer) const { return from_[peer]; }
  // Answers to one token, at most.
  static std::uint32_t Slots(const MoeShape& shape);

  // Rows that other ranks send here; that go to others, and are answered.
  std::uint32_t incoming() const { return incoming_; }
  std::uint32_t outgoing() const { return outgoing_; }

 private:
  Routes(std::size_t self, std::size_t ranks) : self_(self), to_(ranks), from_(ranks) {}

  // A token of `source` goes to `target`.
  void Add(std::size_t source, std::size_t target, std::uint32_t token, std::uint32_t answer);

  std::size_t self_;
  std::vector<Way> to_;    // by rank
  std::vector<Way> from_;  // by rank
  std::uint32_t incoming_ = 0;
  std::uint32_t outgoing_ = 0;
};

}  // namespace drydock::apps::alltoall

#endif  // DRYDOCK_APPS_ALLTOALL_WORKLOAD_H_
