// Behaviours that do not apply to every backend: each says which capabilities it needs, beside its
// source. What a backend does when it lacks a capability is asserted by other behaviours
// (power_contract.cc), and which ones do not apply is compared with a list of each backend
// (applicability_contract.cc).
//
//   const Needs kNeeds("TaggedContract", {Capability::kTaggedMessages});  // all of a suite
//   const Needs kLong("TaggedContract.LongMessageIsCut", {Capability::kLongTruncation});

#ifndef TESTING_CONTRACT_APPLICABILITY_H_
#define TESTING_CONTRACT_APPLICABILITY_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "fabric/capability.h"

namespace contract {

// Define these as constants in the file of the behaviour: they register when the program starts.
class Needs {
 public:
  // `behaviour`: "Suite", or "Suite.Test".
  Needs(const char* behaviour, std::initializer_list<fabric::Capability> capabilities);
};

// "Suite.Test" of the test that runs.
std::string CurrentTest();

// The names of the capabilities that `behaviour` needs and `capabilities` lacks, for a person;
// empty when it applies.
std::string LackingOf(const std::string& behaviour, const fabric::CapabilitySet& capabilities);

// Every behaviour of this program, "Suite.Test", in order.
std::vector<std::string> AllBehaviours();

// Those that do not apply, sorted; "Suite.*" stands for a suite of which nothing applies.
std::vector<std::string> NotApplicable(const fabric::CapabilitySet& capabilities);

// What was registered, for a check that it names behaviours.
std::vector<std::string> RegisteredNeeds();

}  // namespace contract

#endif  // TESTING_CONTRACT_APPLICABILITY_H_
