// Where the programs of the museum run: machines on the plain contract, in a trial's world.
//
// A program here drives both machines from one function, as a progress engine does: it posts, it
// reads completions, and when nothing is to be done it lets time pass (LetTimePass). Programs that
// do not depend on how completions are read use coroutines (RunOnNodes) and are shorter.

#ifndef DRYDOCK_APPS_MUSEUM_STAGE_H_
#define DRYDOCK_APPS_MUSEUM_STAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/museum/exhibit.h"
#include "drydock/coro/keyed_bytes.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/truth.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"

namespace drydock::museum {

struct MachineOptions {
  std::size_t memory_bytes = 64 << 10;
  std::size_t queue_depth = 0;            // of each completion queue; 0: the default
  std::size_t rails = 1;                  // NICs that are opened, from the first one on
  const sim::Profile* profile = nullptr;  // of static storage; null: the world's
};

// One NIC of a machine.
struct Rail : fabric::OpenedNic {
  std::unique_ptr<fabric::MemoryRegion> region;  // all of the machine's memory

  // The next completion, if one is there.
  std::optional<fabric::Completion> Read();
  fabric::LocalBuffer Local(std::size_t offset, std::size_t length) const {
    return region->Local(offset, length);
  }
  fabric::RemoteBuffer Remote(std::size_t offset) const { return region->Remote(offset); }
};

// What it is: a machine of the trial's world, with memory and open NICs. Not thread-safe. Dies
// before the trial.
class Machine {
 public:
  // Errors: whatever the trial's faults let fail.
  static absl::StatusOr<std::unique_ptr<Machine>> Open(sim::explore::Trial& trial, std::string name,
                                                       const MachineOptions& options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  sim::Node& node() { return *node_; }
  Rail& rail(std::size_t index = 0) { return rails_[index]; }
  std::span<std::byte> Bytes(std::size_t offset, std::size_t length);

  // The other machine as a peer of this one's rail, inserted now.
  fabric::Peer Insert(Machine& other, std::size_t rail = 0);

 private:
  struct alignas(4096) Page {  // so that nothing depends on where the allocator puts it
    std::byte bytes[4096];
  };

  Machine() = default;

  sim::Node* node_ = nullptr;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::vector<Page> pages_;
  std::vector<Rail> rails_;
};

// Two machines that know each other, rail by rail.
struct Pair {
  std::unique_ptr<Machine> a;
  std::unique_ptr<Machine> b;
  fabric::Peer to_b{};  // of a, by rail 0
  fabric::Peer to_a{};  // of b
  std::vector<fabric::Peer> rails_to_b{};
};
absl::StatusOr<Pair> OpenPair(sim::explore::Trial& trial, const MachineOptions& a = {},
                              const MachineOptions& b = {});

// Until something happens that a program can see. False: nothing ever will, or the run has lasted
// too long; the program has to return then, and the verdict is that it hangs.
bool LetTimePass(sim::explore::Trial& trial);

// A failed completion in one line.
absl::Status Failed(Rail& rail, const fabric::Completion& completion, absl::string_view what);

using sim::explore::Truth;

// Every block of bytes has a key of its own.
using coro::FillKeyed;
using coro::HoldsKeyed;

// What a program of coroutines is given. A value; the coroutine keeps a reference.
struct Scene {
  sim::explore::Trial& trial;
  sim::explore::Nodes& nodes;
  Truth& truth;
  Twin twin;
  std::uint64_t preemptions = 0;  // so far

  bool repaired() const { return twin == Twin::kRepaired; }
  std::uint64_t size(std::string_view name) const { return trial.parameter(name); }
};

// Where a thread of the program may lose the processor for a while, which the seed decides: threads
// are tasks here, so that the same seed gives the same interleaving.
coro::SleepUntil Preempt(Scene& scene);

// Runs a program of coroutines on `count` machines that know each other.
sim::explore::Outcome RunOnNodes(sim::explore::Trial& trial, Twin twin, std::size_t count,
                                 coro::Task<absl::Status> (*program)(Scene& scene));

}  // namespace drydock::museum

#endif  // DRYDOCK_APPS_MUSEUM_STAGE_H_
