// Behaviours that do not apply to every backend: each names the capabilities and traits that it
// needs, beside its source. Other behaviours (power_contract.cc) test a backend that lacks one, and
// the behaviours that do not apply are compared with a list of each backend
// (applicability_contract.cc).
//
//   const Needs kNeeds("TaggedContract", {Capability::kTaggedMessages});  // all of a suite
//   const Needs kLong("TaggedContract.LongMessageIsCut", {Trait::kLongTruncation});

#ifndef DRYDOCK_TESTING_CONTRACT_APPLICABILITY_H_
#define DRYDOCK_TESTING_CONTRACT_APPLICABILITY_H_

#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "drydock/fabric/capability.h"
#include "drydock/testing/contract/trait.h"

namespace drydock::contract {

// A capability or a trait. A value.
using Need = std::variant<fabric::Capability, Trait>;

// The capabilities of a backend's NICs, and its traits.
struct Abilities {
  fabric::CapabilitySet capabilities;
  Traits traits;

  bool Has(Need need) const;
};

// Define these as constants in the file of the behaviour: they register when the program starts.
class Needs {
 public:
  // `behaviour`: "Suite", or "Suite.Test".
  Needs(const char* behaviour, std::initializer_list<Need> needs);
};

// "Suite.Test" of the test that runs.
std::string CurrentTest();

// The names of the needs of `behaviour` that `abilities` lacks, for a person; empty when it
// applies.
std::string LackingOf(const std::string& behaviour, const Abilities& abilities);

// Every behaviour of this program, "Suite.Test", in order.
std::vector<std::string> AllBehaviours();

// Those that do not apply, sorted; "Suite.*" stands for a suite of which nothing applies.
std::vector<std::string> NotApplicable(const Abilities& abilities);

// The registered behaviours, for a check that they exist.
std::vector<std::string> RegisteredNeeds();

}  // namespace drydock::contract

#endif  // DRYDOCK_TESTING_CONTRACT_APPLICABILITY_H_
