#include "fabric/faults/fault.h"

#include <chrono>
#include <cstdlib>
#include <iostream>

namespace fabric::faults {
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
// What a program starts at a peer, the powers' operations among it.
constexpr OperationSet kStarted = {kSend, kWrite, kRead, kTaggedSend, kAtomic};
constexpr OperationSet kMessages = {kSend, kTaggedSend};
constexpr OperationSet kOwn = {kSend,       kReceive,       kWrite, kRead,
                               kTaggedSend, kTaggedReceive, kAtomic};
constexpr OperationSet kEvery = OperationSet::All();

// Who can apply it.
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
    // ---- Post-time ----
    Row(kSendQueueFull, "P1", "send_queue_full", kAdversarial, kBoth, Point::kPost, kSendQueue,
        kNothing, "one post answers kAgain, without effect"),
    Row(kReceiveQueueFull, "P2", "receive_queue_full", kAdversarial, kBoth, Point::kPost,
        {kReceive}, kNothing, "one post of a receive answers kAgain, without effect"),
    Row(kAgainUntilPolled, "P3", "again_until_polled", kAdversarial, kBoth, Point::kPost, kPosted,
        kNothing,
        "the endpoint's posts answer kAgain until its completion queue is read with room"),
    Row(kAgainThenAccepted, "P4", "again_then_accepted", kAdversarial, kBoth, Point::kPost, kPosted,
        Of({Parameter::kAttempts, 3}), "the endpoint's next `attempts` posts answer kAgain"),
    Row(kPostRefused, "P5", "post_refused", kAdversarial, kBoth, Point::kPost, kPosted,
        Of({Parameter::kError, kInvalid}), "a post answers `error`, without effect"),
    Row(kPartialBatch, "P6", "partial_batch", kAdversarial, kBoth, Point::kBatch, kPosted,
        Of({Parameter::kAccept, 1}),
        "of a post of several requests only the first `accept` are taken, then kAgain"),
    Row(kSendQueueDepth, "P7", "send_queue_depth", kStrict, kDevice, Point::kCapacity, kNone,
        Of({Parameter::kEntries, 8}), "an endpoint has room for `entries` sends, writes and reads"),
    Row(kReceiveQueueDepth, "P8", "receive_queue_depth", kStrict, kDevice, Point::kCapacity, kNone,
        Of({Parameter::kEntries, 8}), "an endpoint has room for `entries` receives"),
    Row(kInjectLimit, "P9", "inject_limit", kStrict, kDevice, Point::kCapacity, kNone,
        Of({Parameter::kBytes, 0}), "injected messages have at most `bytes`"),
    Row(kOpenDomainFails, "P10", "open_domain_fails", kStrict, kBoth, Point::kOpenDomain, kNone,
        Of({Parameter::kError, kNoMemory}), "opening a domain fails with `error`"),
    Row(kOpenAddressVectorFails, "P11", "open_address_vector_fails", kStrict, kBoth,
        Point::kOpenAddressVector, kNone, Of({Parameter::kError, kNoMemory}),
        "opening an address vector fails with `error`"),
    Row(kOpenCompletionQueueFails, "P12", "open_completion_queue_fails", kStrict, kBoth,
        Point::kOpenCompletionQueue, kNone, Of({Parameter::kError, kNoMemory}),
        "opening a completion queue fails with `error`"),
    Row(kOpenEndpointFails, "P13", "open_endpoint_fails", kStrict, kBoth, Point::kOpenEndpoint,
        kNone, Of({Parameter::kError, kNoMemory}), "opening an endpoint fails with `error`"),
    Row(kOpenCounterFails, "P14", "open_counter_fails", kStrict, kBoth, Point::kOpenCounter, kNone,
        Of({Parameter::kError, kNoMemory}), "opening a counter fails with `error`"),
    Row(kRegisterMemoryFails, "P15", "register_memory_fails", kStrict, kBoth,
        Point::kRegisterMemory, kNone, Of({Parameter::kError, kNoMemory}),
        "registering memory fails with `error`"),
    // ---- Completion status ----
    Row(kFlushed, "C1", "flushed", kStrict, kBoth, Point::kOutcome, kOwn, FailingPlaced(0, 0),
        "fails with status 1, kCanceled: its address handle or queue pair is gone"),
    Row(kQueuePairInternal, "C2", "queue_pair_internal", kStrict, kBoth, Point::kOutcome, kStarted,
        Failing(0), "fails with status 2, kDeviceFault"),
    Row(kUnsupportedOperation, "C3", "unsupported_operation", kStrict, kBoth, Point::kOutcome,
        kStarted, Failing(0), "fails with status 3, kUnsupported"),
    Row(kInvalidAddressHandle, "C4", "invalid_address_handle", kStrict, kBoth, Point::kOutcome,
        kStarted, Failing(0), "fails with status 4, kDeviceFault"),
    Row(kLocalKey, "C5", "local_key", kStrict, kBoth, Point::kOutcome, kOwn, Failing(0),
        "fails with status 5, kLocalAccess: as when its region closes in flight"),
    Row(kLocalLength, "C6", "local_length", kStrict, kBoth, Point::kOutcome, kStarted, Failing(0),
        "fails with status 6, kMessageTooLong"),
    Row(kRemoteAddress, "C7", "remote_address", kStrict, kBoth, Point::kOutcome,
        {kWrite, kRead, kAtomic}, FailingPlaced(20 * kMicrosecond, 0),
        "fails with status 7, kRemoteAccess: as when the target's region closes"),
    Row(kRemoteAbort, "C8", "remote_abort", kStrict, kBoth, Point::kOutcome, kStarted,
        FailingPlaced(20 * kMicrosecond, 100),
        "fails with status 8, kPeerAborted; its bytes may have landed"),
    Row(kBadDestination, "C9", "bad_destination", kStrict, kBoth, Point::kOutcome, kStarted,
        Failing(20 * kMicrosecond),
        "fails with status 9, kBadDestination: as when the peer closed or restarted"),
    Row(kReceiverNotReady, "C10", "receiver_not_ready", kStrict, kBoth, Point::kOutcome, kMessages,
        Failing(200 * kMicrosecond), "fails with status 10, kReceiverNotReady"),
    Row(kRemoteLength, "C11", "remote_length", kStrict, kBoth, Point::kOutcome, kMessages,
        Failing(20 * kMicrosecond), "fails with status 11, kTruncated"),
    Row(kBadResponse, "C12", "bad_response", kStrict, kBoth, Point::kOutcome, kStarted,
        FailingPlaced(20 * kMicrosecond, 100),
        "fails with status 12, kBadResponse; its bytes may have landed"),
    Row(kUnresponsive, "C13", "unresponsive", kStrict, kBoth, Point::kOutcome, kStarted,
        FailingPlaced(10 * kMillisecond, 100),
        "fails with status 13, kPeerUnresponsive, late; its bytes may have landed"),
    Row(kUnknownPeer, "C14", "unknown_peer", kStrict, kBoth, Point::kOutcome, kRma,
        Failing(20 * kMicrosecond),
        "fails with status 14, kUnknownPeer: as when the target has not inserted us"),
    Row(kUnreachable, "C15", "unreachable", kStrict, kBoth, Point::kOutcome, kStarted,
        Failing(10 * kMillisecond), "fails with status 15, kUnreachable, late"),
    Row(kFeatureMismatch, "C16", "feature_mismatch", kStrict, kBoth, Point::kOutcome, kStarted,
        Failing(20 * kMicrosecond), "fails with status 18, kFeatureMismatch"),
    Row(kPeerAborted, "C17", "peer_aborted", kStrict, kBoth, Point::kOutcome, kOwn,
        FailingPlaced(20 * kMicrosecond, 100),
        "fails with number 4127, kPeerAborted: the `efa` fabric's word for a region closed in use"),
    Row(kUnsignalledError, "C18", "unsignalled_error", kStrict, kBoth, Point::kOutcome, kSendQueue,
        Of({Parameter::kStatus, 7}, {Parameter::kDelay, 20 * kMicrosecond}),
        "an operation without context fails with `status`: an error entry without context"),
    Row(kRemoteWriteError, "C19", "remote_write_error", kAdversarial, kBoth, Point::kOutcome,
        {kRemoteWrite}, Of({Parameter::kStatus, 5}),
        "a peer's immediate arrives as an error entry without context or immediate"),
    Row(kLostCompletion, "C20", "lost_completion", kIllegal, kBoth, Point::kOutcome, kEvery,
        kNothing, "an operation is done, and its completion never comes"),
    // ---- Placement and ordering ----
    Row(kReorderedOperations, "D1", "reordered_operations", kStrict, kDevice, Point::kPlacement,
        kSendQueue, Of({Parameter::kBehind, 8}),
        "an operation is served after `behind` later ones of its endpoint"),
    Row(kReorderedSegments, "D2", "reordered_segments", kStrict, kDevice, Point::kPlacement,
        kSendQueue, Of({Parameter::kBytes, 64}),
        "an operation's bytes land in pieces of `bytes`, in any order"),
    Row(kDuplicatePlacement, "D3", "duplicate_placement", kStrict, kDevice, Point::kPlacement,
        kSendQueue, Of({Parameter::kCopies, 1}, {Parameter::kDelay, 10 * kMicrosecond}),
        "bytes land `copies` times more, the last before the completion"),
    Row(kTornPlacement, "D4", "torn_placement", kStrict, kDevice, Point::kPlacement, kSendQueue,
        Of({Parameter::kBytes, 8}, {Parameter::kDelay, 10 * kMicrosecond}),
        "who polls memory sees some pieces of `bytes` long before the others"),
    Row(kLateSourceRead, "D5", "late_source_read", kStrict, kDevice, Point::kPlacement,
        {kSend, kWrite}, Of({Parameter::kDelay, 50 * kMicrosecond}),
        "the source is read only `delay_ns` after the post: a buffer reused early is sent as it "
        "is then"),
    Row(kMixedRead, "D6", "mixed_read", kStrict, kDevice, Point::kPlacement, {kRead},
        Of({Parameter::kBytes, 64}, {Parameter::kDelay, 10 * kMicrosecond}),
        "a read returns pieces of `bytes` from different moments"),
    Row(kStragglerWrite, "D7", "straggler_write", kStrict, kDevice, Point::kPlacement, {kWrite},
        Of({Parameter::kDelay, 5 * kMillisecond}),
        "a write lands and completes `delay_ns` later than it would"),
    Row(kLateDeviceVisibility, "D8", "late_device_visibility", kStrict, kDevice, Point::kPlacement,
        kPosted, Of({Parameter::kDelay, 20 * kMicrosecond}),
        "bytes become visible in accelerator memory `delay_ns` after the completion"),
    Row(kCorruptPlacement, "D9", "corrupt_placement", kIllegal, kDevice, Point::kPlacement,
        kSendQueue, Of({Parameter::kBits, 1}), "`bits` bits of what lands are wrong"),
    Row(kLostPlacement, "D10", "lost_placement", kIllegal, kDevice, Point::kPlacement, kSendQueue,
        kNothing, "an operation succeeds, and its bytes never land"),
    // ---- Completion queue ----
    Row(kShortRead, "Q1", "short_read", kStrict, kBoth, Point::kRead, kNone,
        Of({Parameter::kEntries, 1}),
        "a read of a queue returns at most `entries`, though more are ready"),
    Row(kEmptyRead, "Q2", "empty_read", kStrict, kBoth, Point::kRead, kNone,
        Of({Parameter::kDelay, kMicrosecond}), "a read of a queue returns nothing"),
    Row(kDelayedCompletion, "Q3", "delayed_completion", kStrict, kBoth, Point::kTiming, kEvery,
        Of({Parameter::kDelay, 100 * kMicrosecond}, {Parameter::kJitter, 0}),
        "a completion is seen `delay_ns` after it could have been"),
    Row(kHeldCompletion, "Q4", "held_completion", kStrict, kBoth, Point::kTiming, kEvery,
        Of({Parameter::kBehind, 4}, {Parameter::kDelay, kMillisecond}),
        "a completion is seen after `behind` later ones of its queue, or after `delay_ns`"),
    Row(kSpuriousWake, "Q5", "spurious_wake", kStrict, kDecorator, Point::kWait, kNone, kNothing,
        "BlockingWait::Wait returns at once, and there is nothing to read"),
    Row(kCompletionQueueDepth, "Q6", "completion_queue_depth", kStrict, kDevice, Point::kCapacity,
        kNone, Of({Parameter::kEntries, 8}), "a completion queue has room for `entries`"),
    Row(kQueueOverrun, "Q7", "queue_overrun", kAdversarial, kDevice, Point::kTiming, kEvery,
        kNothing, "a completion is lost, as when its queue is full"),
    Row(kImmediateFlood, "Q8", "immediate_flood", kAdversarial, kDevice, Point::kPacket, {kWrite},
        Of({Parameter::kCopies, 16}), "a peer's immediate arrives `copies` times more"),
    // ---- Peer, link, control plane ----
    Row(kSlowPeer, "L1", "slow_peer", kStrict, kBoth, Point::kTiming, kStarted,
        Of({Parameter::kDelay, kMillisecond}, {Parameter::kJitter, 0}),
        "operations to a peer complete `delay_ns` late"),
    Row(kDroppedPeer, "L2", "dropped_peer", kStrict, kBoth, Point::kOutcome, kSendQueue,
        Failing(10 * kMillisecond),
        "nothing reaches the peer: status 13, kPeerUnresponsive, if it ever answered, else 15, "
        "kUnreachable"),
    Row(kInsertPeerFails, "L3", "insert_peer_fails", kStrict, kBoth, Point::kInsertPeer, kNone,
        Of({Parameter::kError, kNoMemory}), "inserting an address fails with `error`"),
    Row(kLateIntroduction, "L4", "late_introduction", kStrict, kDevice, Point::kInsertPeer, kNone,
        Of({Parameter::kDelay, kMillisecond}),
        "an inserted peer may access memory only `delay_ns` later: until then it meets status 14"),
    Row(kLinkBlocked, "L5", "link_blocked", kStrict, kDevice, Point::kMachine, kNone, kNothing,
        "nothing passes in the direction that the selector names: time-outs"),
    Row(kLinkFlap, "L6", "link_flap", kStrict, kDevice, Point::kMachine, kNone,
        Of({Parameter::kUp, 50 * kMillisecond}, {Parameter::kDown, 5 * kMillisecond}),
        "the link is up and down in turn"),
    Row(kPacketLoss, "L7", "packet_loss", kStrict, kDevice, Point::kPacket, kSendQueue,
        Of({Parameter::kAttempts, 1}), "a packet is sent again `attempts` times before it arrives"),
    Row(kSlowLink, "L8", "slow_link", kStrict, kDevice, Point::kPacket, kSendQueue,
        Of({Parameter::kFactor, 10}), "packets take `factor` times as long"),
    Row(kNicDies, "L9", "nic_dies", kStrict, kDevice, Point::kMachine, kNone, kNothing,
        "a NIC falls silent, for good"),
    Row(kNicResets, "L10", "nic_resets", kStrict, kDevice, Point::kMachine, kNone, kNothing,
        "a NIC restarts: its queue pairs are gone, its peers meet status 8, then 9"),
    Row(kNodePauses, "L11", "node_pauses", kStrict, kDevice, Point::kMachine, kNone,
        Of({Parameter::kDelay, 10 * kMillisecond}), "a machine does nothing for `delay_ns`"),
    Row(kRegionCloses, "L12", "region_closes", kStrict, kDevice, Point::kPlacement, kRma, kNothing,
        "the target's region closes while the operation is under way: status 7"),
};

constexpr bool RowsFollowTheEnum() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].fault) != i) return false;
  }
  return true;
}
static_assert(RowsFollowTheEnum());

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

}  // namespace fabric::faults
