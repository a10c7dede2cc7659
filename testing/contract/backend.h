// The interface of a backend to the contract suite: two nodes, and a way to let time pass.
//
// A backend's test is a small library that defines MakeBackend() plus the suite, see README.md.

#ifndef DRYDOCK_TESTING_CONTRACT_BACKEND_H_
#define DRYDOCK_TESTING_CONTRACT_BACKEND_H_

#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/testing/contract/trait.h"

namespace drydock::contract {

class Backend {
 public:
  virtual ~Backend() = default;

  // Two nodes that can reach each other; they may be the same fabric.
  virtual fabric::Fabric& initiator() = 0;
  virtual fabric::Fabric& target() = 0;

  // Where the test's memory comes from: everything that either node registers. Outlives both.
  virtual std::pmr::memory_resource& memory() { return *std::pmr::new_delete_resource(); }

  // The backend's clock, by which tests give up. Time passes in Idle, and may pass otherwise.
  virtual coro::Time Now() = 0;

  // Lets a little time pass, after queues were polled and nothing was there.
  virtual void Idle() = 0;

  // How long to wait for an expected event before the test fails.
  virtual coro::Duration Patience() const = 0;
  // How long to watch for an event that must not happen.
  virtual coro::Duration Quiet() const = 0;

  // An address of the right form that no endpoint has.
  virtual fabric::Address NobodysAddress() = 0;

  // For the log of a failing test: the seed, or the provider.
  virtual std::string Description() const = 0;

  // The capabilities that the backend's NICs must have: one that appears or vanishes is a change of
  // contract.
  virtual fabric::CapabilitySet ExpectedCapabilities() const = 0;

  // How it behaves where backends may differ and a NIC says nothing. Each is observed by a
  // behaviour.
  virtual Traits ExpectedTraits() const = 0;

  // The behaviours that do not apply because a capability or a trait is lacking: "Suite.Test", or
  // "Suite.*" where that holds for all of a suite. Compared with what really does not apply
  // (applicability_contract.cc), so that nothing stops being tested unnoticed.
  virtual std::vector<std::string> NotApplicable() const = 0;

  // The behaviours ("Suite.Test") in which the library behind the backend crashes, or never comes
  // back: they are skipped.
  virtual std::vector<std::string> Broken() const { return {}; }
};

// Defined by each backend's test.
std::unique_ptr<Backend> MakeBackend();

}  // namespace drydock::contract

#endif  // DRYDOCK_TESTING_CONTRACT_BACKEND_H_
