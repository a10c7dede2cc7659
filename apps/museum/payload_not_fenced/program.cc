// Threads of a GPU store a payload, and one of them asks the proxy on the host to put it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/time.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"threads", 16, 1, 64, "of the GPU, each with a piece of the payload"},
    Parameter{"linger_ns", 3000, 0, 20000, "that a store is on its way at most, without a fence"},
};
constexpr std::size_t kPiece = 64;

// The stores of a kernel on their way to the memory that the NIC reads: through caches and over
// PCIe, each in its own time.
class Stores {
 public:
  Stores(Trial& trial, Machine& gpu) : trial_(trial), gpu_(gpu) {}

  void Add(std::uint64_t thread) {
    const std::uint64_t most = trial_.parameter("linger_ns") + 1;
    const std::uint64_t delay = coro::Below(coro::Combine(trial_.seed(), thread), most);
    on_the_way_.push_back(
        {coro::After(trial_.clock().Now(), coro::Duration(static_cast<std::int64_t>(delay))),
         thread});
  }
  // Those whose time has come are in memory.
  void Arrive() {
    std::erase_if(on_the_way_, [&](const Store& store) {
      if (store.due > trial_.clock().Now()) return false;
      Put(store);
      return true;
    });
  }
  // All of them are: what a fence of the whole system waits for.
  void Fence() {
    for (const Store& store : on_the_way_) Put(store);
    on_the_way_.clear();
  }
  // kNever: none is on its way.
  coro::Time Next() const {
    coro::Time next = coro::kNever;
    for (const Store& store : on_the_way_) next = std::min(next, store.due);
    return next;
  }

 private:
  struct Store {
    coro::Time due;
    std::uint64_t thread;
  };

  void Put(const Store& store) {
    FillKeyed(gpu_.Bytes(kPiece * store.thread, kPiece), store.thread);
  }

  Trial& trial_;
  Machine& gpu_;
  std::vector<Store> on_the_way_;
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  const std::uint64_t threads = trial.parameter("threads");
  Stores stores(trial, *pair->a);
  for (std::uint64_t thread = 0; thread < threads; ++thread) stores.Add(thread);
  // WRONG: the threads have met at a barrier of theirs, and the put is asked for.
  if (twin == Twin::kRepaired) stores.Fence();  // REPAIRED: and their stores can be seen outside
  const auto error =
      sender.endpoint->Write(fabric::WriteRequest{.source = sender.Local(0, kPiece * threads),
                                                  .target = pair->b->rail().Remote(0),
                                                  .peer = pair->to_b,
                                                  .immediate = 1,
                                                  .context = fabric::Context{1}});
  if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  bool completed = false;
  bool arrived = false;
  while (!completed || !arrived) {
    stores.Arrive();
    while (sender.Read().has_value()) completed = true;
    while (pair->b->rail().Read().has_value()) arrived = true;
    if ((!completed || !arrived) && !trial.clock().WaitUntil(stores.Next())) break;
  }
  for (std::uint64_t thread = 0; arrived && thread < threads; ++thread) {
    if (!HoldsKeyed(pair->b->Bytes(kPiece * thread, kPiece), thread)) {
      return Outcome::WrongData("the put took bytes that a thread had not stored yet");
    }
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& PayloadNotFenced() {
  static const Exhibit exhibit = {
      .name = "payload-not-fenced",
      .project = "uccl-project/uccl",
      .origin = "pull request 903",
      .kind = "GPU memory",
      .cause = "a put overtakes the stores of the GPU's threads that made its payload",
      .verdict = sim::explore::Verdict::kFinding,
      .check = "buffer-race",
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
