// Behaviours that do not apply to every backend: each says which capabilities and traits it needs,
// beside its source. What a backend does when it lacks one is asserted by other behaviours
// (power_contract.cc), and which ones do not apply is compared with a list of each backend
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

// What a backend's NICs can do, and how it behaves.
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

// The names of what `behaviour` needs and `abilities` lacks, for a person; empty when it applies.
std::string LackingOf(const std::string& behaviour, const Abilities& abilities);

// Every behaviour of this program, "Suite.Test", in order.
std::vector<std::string> AllBehaviours();

// Those that do not apply, sorted; "Suite.*" stands for a suite of which nothing applies.
std::vector<std::string> NotApplicable(const Abilities& abilities);

// What was registered, for a check that it names behaviours.
std::vector<std::string> RegisteredNeeds();

}  // namespace drydock::contract

#endif  // DRYDOCK_TESTING_CONTRACT_APPLICABILITY_H_
