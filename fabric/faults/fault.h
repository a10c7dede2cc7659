// The catalogue of faults: everything that EFA, its driver or its network does to a program and a
// laptop never does. docs/faults.md shows it to people; a test keeps the two equal.

#ifndef DRYDOCK_FABRIC_FAULTS_FAULT_H_
#define DRYDOCK_FABRIC_FAULTS_FAULT_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "drydock/fabric/faults/event.h"
#include "drydock/fabric/faults/parameters.h"

namespace drydock::fabric::faults {

// Numbered in the order of catalogue.inc.
enum class Fault : std::uint8_t {
#define DD_FAULT(fault, ...) fault,
#include "drydock/fabric/faults/catalogue.inc"
#undef DD_FAULT
};

inline constexpr std::size_t kFaultCount = 0
#define DD_FAULT(...) +1
#include "drydock/fabric/faults/catalogue.inc"
#undef DD_FAULT
    ;

// The faults that a layer applies. Index = the enum's number.
using FaultSet = std::bitset<kFaultCount>;

// The distance of a fault from the hardware's behaviour. A plan's mode is the largest that its
// rules may have.
enum class Legality : std::uint8_t {
  kStrict,       // EFA does it, to the operations that the catalogue names
  kAdversarial,  // the contract allows it; EFA does it rarely, or in other states only
  kIllegal,      // no correct fabric does it: tests whether a check notices
};
std::string_view Name(Legality legality);  // strict, adversarial, illegal

// The layers that can apply a fault.
enum class Layer : std::uint8_t {
  kDevice,     // the simulated NIC, from within
  kDecorator,  // FaultyFabric, above any fabric
};
inline constexpr std::size_t kLayerCount = 2;

struct ParameterDefault {
  Parameter parameter;
  std::int64_t value;
};

// One row of the catalogue.
struct FaultInfo {
  static constexpr std::size_t kMostParameters = 3;

  Fault fault;
  std::string_view id;    // P1, C7: letter of the group and number; never changes
  std::string_view name;  // in a plan's text: snake_case
  Legality legality;
  bool device;  // which layers can apply it
  bool decorator;
  Point point;              // where it is decided
  OperationSet operations;  // that it can happen to; empty: it does not happen to operations
  std::array<std::optional<ParameterDefault>, kMostParameters> parameters;
  std::string_view effect;  // what a program sees, one line
};

// All of them, in the order of the enum. Static storage.
std::span<const FaultInfo> Catalogue();
const FaultInfo& Describe(Fault fault);
std::optional<Fault> FaultFromName(std::string_view name);

// The faults that the catalogue gives to a layer.
FaultSet FaultsOf(Layer layer);

// Whether the fault takes this parameter.
bool Takes(const FaultInfo& info, Parameter parameter);

// The device's completion status that the faults kFlushed to kFeatureMismatch and kPeerAborted
// stand for (kPeerAborted: 4127, the number of the `efa` fabric's protocol); absent for others.
std::optional<std::int32_t> StatusOf(Fault fault);

// The error of a failed completion with this status: FromEfaStatus, and the protocol's own number.
ErrorCode ErrorOfStatus(std::int32_t status);

// For a layer that was told to apply a fault at a point where it does not know it: says so in one
// line, and ends the program. So a fault never acts as another one.
[[noreturn]] void RefuseFault(Fault fault);

// An operation kind in a plan's text: fabric::Name in snake_case.
std::string_view NameInPlan(OperationKind kind);
std::optional<OperationKind> OperationFromName(std::string_view name);

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_FAULT_H_
