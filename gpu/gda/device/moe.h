// Mixture of experts: tokens go to the experts that were chosen for them, and come back; as one
// kernel each way, between any ranks.
//
//   dispatch   every rank puts its table of choices to all    signal kMoeTable: the table is there
//              and each token to its top_k experts' ranks     signal kMoeToken: one token is there
//              then waits for the tables, reads from them how many tokens come, and waits for those
//   combine    every rank runs its experts on what came, puts the answers back  signal kMoeAnswer
//              waits for as many as it sent, and sums them up, by weight
//
// Nothing here needs an order that EFA does not promise. How many tokens a rank gets is said by a
// table, which its own signal vouches for; each token counts itself. A count that was put after the
// tokens could arrive before them.
//
// Values are integers of 32 bits, and sums are modulo 2^32: the result is the same to the bit, in
// whatever order tokens come.

#ifndef DRYDOCK_GPU_GDA_DEVICE_MOE_H_
#define DRYDOCK_GPU_GDA_DEVICE_MOE_H_

#include <cstdint>
#include <type_traits>

#include "drydock/gpu/gda/device/copies_port.h"
#include "drydock/gpu/gda/device/kernel_report.h"
#include "drydock/gpu/gda/device/moe_shape.h"
#include "drydock/gpu/gda/device/payload.h"
#include "drydock/gpu/gda/device/port.h"
#include "drydock/gpu/gda/device/views.h"

namespace drydock::gpu::gda {

// Where everything is in the window of a rank: offsets in bytes. Choice c is token c / top_k's.
struct MoeLayout {
  DD_HOST_DEVICE explicit MoeLayout(const MoeShape& its_shape) : shape(its_shape) {}

  DD_HOST_DEVICE std::uint64_t row_bytes() const { return std::uint64_t{shape.words} * 4; }
  DD_HOST_DEVICE std::uint64_t table_bytes() const { return std::uint64_t{shape.choices()} * 4; }
  // What a program fills in: tokens, the expert of each choice, its weight.
  DD_HOST_DEVICE std::uint64_t Token(std::uint32_t token) const { return token * row_bytes(); }
  DD_HOST_DEVICE std::uint64_t Table() const { return Token(shape.tokens); }
  DD_HOST_DEVICE std::uint64_t Weights() const { return Table() + table_bytes(); }
  // What others write: their tables and tokens, and the answers.
  DD_HOST_DEVICE std::uint64_t TableOf(std::uint32_t source) const {
    return Weights() + (1 + source) * table_bytes();
  }
  DD_HOST_DEVICE std::uint64_t Received(std::uint32_t source, std::uint32_t choice) const {
    return TableOf(shape.ranks) + (std::uint64_t{source} * shape.choices() + choice) * row_bytes();
  }
  DD_HOST_DEVICE std::uint64_t Answer(std::uint32_t choice) const {
    return Received(shape.ranks, choice);
  }
  // What this rank answers.
  DD_HOST_DEVICE std::uint64_t Computed(std::uint32_t source, std::uint32_t choice) const {
    return Answer(shape.choices()) +
           (std::uint64_t{source} * shape.choices() + choice) * row_bytes();
  }
  // The result: a row for each token.
  DD_HOST_DEVICE std::uint64_t Result(std::uint32_t token) const {
    return Computed(shape.ranks, 0) + token * row_bytes();
  }
  DD_HOST_DEVICE std::uint64_t bytes() const { return Result(shape.tokens); }

  MoeShape shape;
};

// What the blocks of a rank share. In memory of the device, zero at first; one for all rounds.
struct MoeState {
  std::uint32_t met = 0;                   // workers that have come to Meet, ever
  std::uint32_t failed = 0;                // an Outcome
  std::uint32_t expected[kMaxRanks] = {};  // tokens, or answers, of this round
};

template <typename View>
struct MoeArgumentsOf {
  View view;
  MoeShape shape;
  MoeState* state = nullptr;
  KernelReport* report = nullptr;  // of the rank
};
using MoeArguments = MoeArgumentsOf<PortView>;
using MoeCopiesArguments = MoeArgumentsOf<CopiesView>;
static_assert(std::is_trivially_copyable_v<MoeArguments> && sizeof(MoeArguments) <= 4096);

enum MoeSignal : std::uint32_t { kMoeTable, kMoeToken, kMoeAnswer };

template <typename View>
struct PortFor;
template <>
struct PortFor<PortView> {
  using Type = Port<Sharing::kExclusive>;
};
template <>
struct PortFor<CopiesView> {
  using Type = CopiesPort;
};

// One thread's part in either kernel. A worker is a warp, with a queue to itself: REQUIRES as many
// queues as there are warps, and all blocks resident together.
template <typename View, typename Team>
class MoeWorker {
 public:
  DD_HOST_DEVICE MoeWorker(const MoeArgumentsOf<View>& arguments, Team& team)
      : arguments_(arguments),
        layout_(arguments.shape),
        warp_(team.Warp()),
        number_(team.block() * team.warps() + team.warp_number()),
        workers_(team.blocks() * team.warps()),
        port_(arguments.view, number_) {}

  DD_HOST_DEVICE void Dispatch() {
    SendTables();
    SendTokens();
    if (number_ == 0) AwaitTokens();
    Finish();
  }
  DD_HOST_DEVICE void Combine() {
    Answer();
    if (number_ == 0) AwaitAnswers();
    Meet();
    Sum();
    Finish();
  }

 private:
  using ThePort = typename PortFor<View>::Type;
  using Request = typename ThePort::Request;

  DD_HOST_DEVICE const MoeShape& shape() const { return arguments_.shape; }
  DD_HOST_DEVICE std::uint32_t* At(std::uint64_t offset) const {
    return reinterpret_cast<std::uint32_t*>(arguments_.view.local + offset);
  }
  // Keeps the first failure, in which all workers of the rank end.
  DD_HOST_DEVICE bool Fine(Outcome outcome) {
    if (outcome != Outcome::kOk && warp_.rank() == 0) {
      StoreBell(&arguments_.state->failed, static_cast<std::uint32_t>(outcome));
    }
    return outcome == Outcome::kOk && !Failed();
  }
  DD_HOST_DEVICE bool Failed() {
    return warp_.Broadcast(LoadWord32(&arguments_.state->failed)) != 0;
  }

  // All workers of the rank wait for each other.
  DD_HOST_DEVICE void Meet() {
    warp_.Sync();
    if (warp_.rank() == 0) {
      DeviceFence();
      std::uint32_t* const met = &arguments_.state->met;
      const std::uint32_t before = FetchAdd(met, 1);
      const std::uint32_t all = before - before % workers_ + workers_;
      Patience patience(2 * arguments_.view.timeout_ns);
      while (static_cast<std::int32_t>(LoadWord32(met) - all) < 0) {
        if (patience.Over()) {
          StoreBell(&arguments_.state->failed, static_cast<std::uint32_t>(Outcome::kTimedOut));
          break;
        }
      }
    }
    warp_.Sync();
  }

  DD_HOST_DEVICE void SendTables() {
    if (number_ != 0) return;
    Fine(port_.PostEach(warp_, shape().ranks, Bells::kNow, [this](std::uint32_t rank) {
      return Request{PortOperation::kPutSignal,
                     {rank, layout_.TableOf(arguments_.view.rank), layout_.Table(),
                      static_cast<std::uint32_t>(layout_.table_bytes())},
                     kMoeTable};
    }));
  }

  // Worker w has choices w, w + workers, ...
  DD_HOST_DEVICE void SendTokens() {
    const std::uint32_t count = (shape().choices() + workers_ - 1 - number_) / workers_;
    Fine(port_.PostEach(warp_, count, Bells::kNow, [this](std::uint32_t i) {
      const std::uint32_t choice = number_ + i * workers_;
      const std::uint32_t expert = At(layout_.Table())[choice];
      return Request{
          PortOperation::kPutSignal,
          {shape().RankOf(expert), layout_.Received(arguments_.view.rank, choice),
           layout_.Token(choice / shape().top_k), static_cast<std::uint32_t>(layout_.row_bytes())},
          kMoeToken};
    }));
  }

  // Adds to expected[bucket(choice)] for each choice of the table at `offset`; none: kMaxRanks.
  template <typename Bucket>
  DD_HOST_DEVICE void Expect(std::uint64_t offset, const Bucket& bucket) {
    for (std::uint32_t choice = warp_.rank(); choice < shape().choices(); choice += warp_.size()) {
      const std::uint32_t where = bucket(LoadPayload(At(offset) + choice));
      if (where < kMaxRanks) FetchAdd(&arguments_.state->expected[where], 1);
    }
  }
  // Waits for what is expected of every rank, and for its bytes.
  DD_HOST_DEVICE bool AwaitExpected(std::uint32_t signal) {
    warp_.Sync();
    for (std::uint32_t rank = 0; rank < shape().ranks; ++rank) {
      const std::uint32_t count = warp_.Broadcast(LoadWord32(&arguments_.state->expected[rank]));
      if (!Fine(port_.WaitSignal(warp_, rank, signal, count))) return false;
      if (warp_.rank() == 0) {
        port_.ResetSignal(rank, signal, count);
        StoreFencedWord(&arguments_.state->expected[rank], 0);
      }
    }
    return Fine(port_.MakeVisible(warp_));
  }

  DD_HOST_DEVICE void AwaitTokens() {
    for (std::uint32_t rank = 0; rank < shape().ranks; ++rank) {
      if (!Fine(port_.WaitSignal(warp_, rank, kMoeTable, 1))) return;
      if (warp_.rank() == 0) port_.ResetSignal(rank, kMoeTable, 1);
    }
    if (!Fine(port_.MakeVisible(warp_))) return;
    for (std::uint32_t rank = 0; rank < shape().ranks; ++rank) {
      Expect(layout_.TableOf(rank), [this, rank](std::uint32_t expert) {
        return shape().RankOf(expert) == arguments_.view.rank ? rank : kMaxRanks;
      });
    }
    AwaitExpected(kMoeToken);
  }

  // Runs the experts on what came, each worker on every so many, and answers. What came was visible
  // before this kernel began.
  DD_HOST_DEVICE void Answer() {
    std::uint32_t mine = 0;
    for (std::uint32_t source = 0; source < shape().ranks; ++source) {
      for (std::uint32_t choice = 0; choice < shape().choices(); ++choice) {
        const std::uint32_t expert = At(layout_.TableOf(source))[choice];
        if (shape().RankOf(expert) != arguments_.view.rank) continue;
        if (mine++ % workers_ != number_) continue;
        Compute(expert, source, choice);
        const Piece piece{source, layout_.Answer(choice), layout_.Computed(source, choice),
                          static_cast<std::uint32_t>(layout_.row_bytes())};
        if (!Fine(port_.PutSignal(warp_, piece, kMoeAnswer, Bells::kLater))) return;
      }
    }
    Fine(port_.Flush(warp_));
  }
  // Several loads are under way at once: a GPU's thread waits for the first use of each.
  static constexpr std::uint32_t kLoads = 8;

  DD_HOST_DEVICE void Compute(std::uint32_t expert, std::uint32_t source, std::uint32_t choice) {
    const std::uint32_t* const from = At(layout_.Received(source, choice));
    std::uint32_t* const to = At(layout_.Computed(source, choice));
    for (std::uint32_t begin = warp_.rank(); begin < shape().words;
         begin += kLoads * warp_.size()) {
      std::uint32_t values[kLoads];
      GDA_UNROLL for (std::uint32_t j = 0; j < kLoads; ++j) {
        const std::uint32_t i = begin + j * warp_.size();
        values[j] = i < shape().words ? from[i] : 0;
      }
      GDA_UNROLL for (std::uint32_t j = 0; j < kLoads; ++j) {
        const std::uint32_t i = begin + j * warp_.size();
        if (i < shape().words) StorePayload(to + i, Expert(expert, i, values[j]));
      }
    }
  }

  DD_HOST_DEVICE void AwaitAnswers() {
    Expect(layout_.Table(), [this](std::uint32_t expert) { return shape().RankOf(expert); });
    AwaitExpected(kMoeAnswer);
  }

  DD_HOST_DEVICE void Sum() {
    if (Failed()) return;
    const std::uint64_t words = std::uint64_t{shape().tokens} * shape().words;
    const std::uint64_t step = std::uint64_t{workers_} * warp_.size();
    for (std::uint64_t at = std::uint64_t{number_} * warp_.size() + warp_.rank(); at < words;
         at += step) {
      const auto token = static_cast<std::uint32_t>(at / shape().words);
      const auto i = static_cast<std::uint32_t>(at % shape().words);
      StorePayload(At(layout_.Result(token)) + i, SumOf(token, i));
    }
  }

  // Word `i` of the answers to a token, each times its weight.
  DD_HOST_DEVICE std::uint32_t SumOf(std::uint32_t token, std::uint32_t i) {
    const std::uint32_t* const weights = At(layout_.Weights()) + token * shape().top_k;
    std::uint32_t sum = 0;
    for (std::uint32_t begin = 0; begin < shape().top_k; begin += kLoads) {
      std::uint32_t values[kLoads];
      GDA_UNROLL for (std::uint32_t j = 0; j < kLoads; ++j) {
        const std::uint32_t k = begin + j;
        values[j] =
            k < shape().top_k ? LoadPayload(At(layout_.Answer(token * shape().top_k + k)) + i) : 0;
      }
      GDA_UNROLL for (std::uint32_t j = 0; j < kLoads; ++j) {
        if (begin + j < shape().top_k) sum += weights[begin + j] * values[j];
      }
    }
    return sum;
  }

  // No rank's memory is written again before all ranks have read it.
  DD_HOST_DEVICE void Finish() {
    if (!Failed()) Fine(port_.Quiet(warp_));
    Meet();
    if (number_ == 0 && !Failed()) {
      Fine(port_.Barrier(warp_, RankTeam{0, 1, shape().ranks}));
    }
    if (warp_.rank() == 0) port_.Save();
    if (number_ != 0 || warp_.rank() != 0) return;
    arguments_.report->outcome = static_cast<Outcome>(LoadWord32(&arguments_.state->failed));
  }

  const MoeArgumentsOf<View>& arguments_;
  const MoeLayout layout_;
  typename Team::WarpScope warp_;
  const std::uint32_t number_;
  const std::uint32_t workers_;
  ThePort port_;
};

// report->nanoseconds: of the first worker.
template <typename View, typename Team>
DD_HOST_DEVICE void MoeDispatchBody(const MoeArgumentsOf<View>& arguments, Team& team) {
  const std::uint64_t start = Nanoseconds();
  MoeWorker<View, Team> worker(arguments, team);
  worker.Dispatch();
  if (team.block() == 0 && team.rank() == 0) arguments.report->nanoseconds = Nanoseconds() - start;
}
template <typename View, typename Team>
DD_HOST_DEVICE void MoeCombineBody(const MoeArgumentsOf<View>& arguments, Team& team) {
  const std::uint64_t start = Nanoseconds();
  MoeWorker<View, Team> worker(arguments, team);
  worker.Combine();
  if (team.block() == 0 && team.rank() == 0) arguments.report->nanoseconds = Nanoseconds() - start;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_MOE_H_
