#include "drydock/fabric/faults/fault.h"

#include <chrono>
#include <cstdlib>
#include <iostream>

namespace drydock::fabric::faults {
namespace {

using enum OperationKind;
using enum Legality;

constexpr std::int64_t kMicrosecond = 1000;
constexpr std::int64_t kMillisecond = 1000 * kMicrosecond;
constexpr std::int64_t kNoMemory = static_cast<std::int64_t>(ErrorCode::kNoMemory);
constexpr std::int64_t kInvalid = static_cast<std::int64_t>(ErrorCode::kInvalidArgument);

constexpr OperationSet kNone;
constexpr OperationSet kRma = {kWrite, kRead};
constexpr OperationSet kPosted = {kSend, kReceive, kWrite, kRead};
constexpr OperationSet kSendQueue = {kSend, kWrite, kRead};
// The operations that a program starts at a peer, those of powers among them.
constexpr OperationSet kStarted = {kSend, kWrite, kRead, kTaggedSend, kAtomic};
constexpr OperationSet kMessages = {kSend, kTaggedSend};
constexpr OperationSet kOwn = {kSend,       kReceive,       kWrite, kRead,
                               kTaggedSend, kTaggedReceive, kAtomic};
constexpr OperationSet kEvery = OperationSet::All();

// The layers that can apply it.
struct Layers {
  bool device;
  bool decorator;
};
constexpr Layers kBoth = {true, true};
constexpr Layers kDevice = {true, false};
constexpr Layers kDecorator = {false, true};

using Defaults = std::array<std::optional<ParameterDefault>, FaultInfo::kMostParameters>;
constexpr Defaults kNothing = {};

constexpr Defaults Of(ParameterDefault a) { return {a}; }
constexpr Defaults Of(ParameterDefault a, ParameterDefault b) { return {a, b}; }

// When a failure is seen, after which fraction of the bytes was placed.
constexpr Defaults Failing(std::int64_t after_ns) {
  return Of({Parameter::kDelay, after_ns}, {Parameter::kJitter, 0});
}
constexpr Defaults FailingPlaced(std::int64_t after_ns, std::int64_t placed) {
  return {ParameterDefault{Parameter::kDelay, after_ns}, ParameterDefault{Parameter::kJitter, 0},
          ParameterDefault{Parameter::kPlacedPercent, placed}};
}

constexpr FaultInfo Row(Fault fault, std::string_view id, std::string_view name, Legality legality,
                        Layers layers, Point point, OperationSet operations, Defaults parameters,
                        std::string_view effect) {
  return {fault, id,         name,       legality, layers.device, layers.decorator,
          point, operations, parameters, effect};
}

using enum Fault;

constexpr std::array<FaultInfo, kFaultCount> kTable = {
#define DD_FAULT(fault, ...) Row(Fault::fault, __VA_ARGS__),
#include "drydock/fabric/faults/catalogue.inc"
#undef DD_FAULT
};

constexpr std::array<std::string_view, 8> kOperationNames = {
    "send", "receive", "write", "read", "remote_write", "tagged_send", "tagged_receive", "atomic"};

}  // namespace

std::string_view Name(Legality legality) {
  switch (legality) {
    case kStrict:
      return "strict";
    case kAdversarial:
      return "adversarial";
    case kIllegal:
      return "illegal";
  }
  return "unknown";
}

std::span<const FaultInfo> Catalogue() { return kTable; }

const FaultInfo& Describe(Fault fault) { return kTable[static_cast<std::size_t>(fault)]; }

std::optional<Fault> FaultFromName(std::string_view name) {
  for (const FaultInfo& info : kTable) {
    if (info.name == name) return info.fault;
  }
  return std::nullopt;
}

FaultSet FaultsOf(Layer layer) {
  FaultSet set;
  for (const FaultInfo& info : kTable) {
    set[static_cast<std::size_t>(info.fault)] =
        layer == Layer::kDevice ? info.device : info.decorator;
  }
  return set;
}

bool Takes(const FaultInfo& info, Parameter parameter) {
  for (const auto& taken : info.parameters) {
    if (taken.has_value() && taken->parameter == parameter) return true;
  }
  return false;
}

std::optional<std::int32_t> StatusOf(Fault fault) {
  if (fault == kPeerAborted) return 4127;
  if (fault == kFeatureMismatch) return 18;
  if (fault < kFlushed || fault > kUnreachable) return std::nullopt;
  return static_cast<std::int32_t>(fault) - static_cast<std::int32_t>(kFlushed) + 1;
}

ErrorCode ErrorOfStatus(std::int32_t status) {
  if (status == 4127) return ErrorCode::kPeerAborted;
  return status > UINT8_MAX ? ErrorCode::kOther : FromEfaStatus(static_cast<std::uint8_t>(status));
}

void RefuseFault(Fault fault) {
  const FaultInfo& info = Describe(fault);
  std::cerr << "fault " << info.id << " (" << info.name
            << ") fired at a point where no layer knows what to do about it\n";
  std::abort();
}

std::string_view NameInPlan(OperationKind kind) {
  return kOperationNames[static_cast<std::size_t>(kind)];
}

std::optional<OperationKind> OperationFromName(std::string_view name) {
  for (std::size_t i = 0; i < kOperationNames.size(); ++i) {
    if (kOperationNames[i] == name) return static_cast<OperationKind>(i);
  }
  return std::nullopt;
}

}  // namespace drydock::fabric::faults
