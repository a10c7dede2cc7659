// Two simulated machines whose queues are a device's, for the tests of this folder.

#ifndef DRYDOCK_GPU_GDA_TESTING_TEST_BED_H_
#define DRYDOCK_GPU_GDA_TESTING_TEST_BED_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "drydock/gpu/gda/queue/queue.h"
#include "drydock/gpu/gda/queue/transfer.h"
#include "drydock/gpu/gda/sim_engine.h"
#include "drydock/gpu/gda/sim_queue.h"
#include "drydock/sim/testing/lab.h"

namespace drydock::gpu::gda {

// One machine with its queue, and what its device knows.
struct TestSide {
  TestSide(sim_testing::Lab& lab, SimEngine& engine, const char* name,
           const sim_testing::SideOptions& options = {})
      : side(lab.Add(name, options)),
        queue(*sim_testing::Must(engine.Open(*side.endpoint))),
        state(FreshState(queue.View())) {}

  // How it names the other one. REQUIRES: Lab::Introduce.
  PeerView PeerOf(const TestSide& other) {
    return sim_testing::Must(queue.PeerOf(side.PeerOf(other.side), other.side.endpoint->address()));
  }
  std::uint32_t lkey() const { return static_cast<std::uint32_t>(side.region->local_key()); }
  // Between the same offset of both memories.
  Transfer WriteTo(const TestSide& to, std::size_t offset, std::uint32_t length) const {
    Transfer transfer;
    transfer.length = length;
    transfer.lkey = lkey();
    transfer.local = reinterpret_cast<std::uint64_t>(side.memory().data() + offset);
    const fabric::RemoteBuffer remote = to.side.Remote(offset);
    transfer.rkey = static_cast<std::uint32_t>(remote.key);
    transfer.remote = remote.address;
    return transfer;
  }

  sim_testing::Side& side;
  SimQueue& queue;
  QueueState state;
};

struct TestBed {
  explicit TestBed(std::uint64_t seed, sim::Profile profile = sim_testing::Small(),
                   const sim_testing::SideOptions& options = {})
      : lab(seed, std::move(profile), sim::ClockKind::kReal),
        engine(lab.world()),
        a(lab, engine, "a", options),
        b(lab, engine, "b", options) {
    lab.Introduce();
    to_b = a.PeerOf(b);
    to_a = b.PeerOf(a);
  }

  sim_testing::Lab lab;
  SimEngine engine;
  TestSide a;
  TestSide b;
  PeerView to_b;
  PeerView to_a;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_TESTING_TEST_BED_H_
