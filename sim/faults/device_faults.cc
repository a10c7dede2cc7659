#include "sim/faults/device_faults.h"

namespace sim {
namespace {

using enum fabric::faults::Fault;

constexpr fabric::faults::Fault kApplied[] = {
    // Post-time.
    kSendQueueDepth, kReceiveQueueDepth, kInjectLimit,
    // Completion status.
    kFlushed, kQueuePairInternal, kUnsupportedOperation, kInvalidAddressHandle, kLocalKey,
    kLocalLength, kRemoteAddress, kRemoteAbort, kBadDestination, kReceiverNotReady, kRemoteLength,
    kBadResponse, kUnresponsive, kUnknownPeer, kUnreachable, kFeatureMismatch, kUnsignalledError,
    kRemoteWriteError, kLostCompletion,
    // Placement and ordering.
    kReorderedOperations, kReorderedSegments, kDuplicatePlacement, kTornPlacement, kLateSourceRead,
    kMixedRead, kStragglerWrite, kCorruptPlacement, kLostPlacement,
    // Completion queue.
    kDelayedCompletion, kHeldCompletion, kCompletionQueueDepth, kQueueOverrun, kImmediateFlood,
    // Peer, link, control plane.
    kSlowPeer, kLateIntroduction, kLinkBlocked, kLinkFlap, kPacketLoss, kSlowLink, kNicDies,
    kNicResets, kNodePauses, kRegionCloses};

}  // namespace

fabric::faults::FaultSet DeviceFaults() {
  fabric::faults::FaultSet set;
  for (const fabric::faults::Fault fault : kApplied) set.set(static_cast<std::size_t>(fault));
  return set;
}

}  // namespace sim
