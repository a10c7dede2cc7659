#include "fabric/capability.h"

#include <array>

namespace fabric {
namespace {

constexpr std::array kTable = {
    CapabilityInfo{Capability::kMessages, "messages", "send and receive"},
    CapabilityInfo{Capability::kRemoteWrite, "remote_write", "write to a peer's memory"},
    CapabilityInfo{Capability::kRemoteRead, "remote_read", "read from a peer's memory"},
    CapabilityInfo{Capability::kImmediateData, "immediate_data",
                   "32-bit immediates on sends and writes"},
    CapabilityInfo{Capability::kUnsolicitedImmediate, "unsolicited_immediate",
                   "the immediate of a write consumes no posted receive"},
    CapabilityInfo{Capability::kLongMessages, "long_messages", "messages longer than one packet"},
    CapabilityInfo{Capability::kSendOrder, "send_order",
                   "messages to one peer arrive in posting order"},
    CapabilityInfo{Capability::kWriteOrder, "write_order",
                   "writes to one peer are placed in posting order"},
    CapabilityInfo{Capability::kRemoteErrors, "remote_errors",
                   "an operation that the target refuses fails at the initiator"},
    CapabilityInfo{Capability::kClosedPeerErrors, "closed_peer_errors",
                   "an operation towards a closed endpoint fails"},
    CapabilityInfo{Capability::kRemoteWriteLength, "remote_write_length",
                   "a remote write's completion tells its length"},
    CapabilityInfo{Capability::kSourceTruncation, "source_truncation",
                   "the sender of a message that was too long is told"},
    CapabilityInfo{Capability::kMutualInsertion, "mutual_insertion",
                   "remote access needs the initiator in the target's address vector"},
    CapabilityInfo{Capability::kBlockingWait, "blocking_wait",
                   "a thread can sleep until a completion arrives"},
    CapabilityInfo{Capability::kVirtualTime, "virtual_time", "time passes only in the simulator"},
};

constexpr bool RowsFollowTheEnum() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].capability) != i) return false;
  }
  return kTable.size() == static_cast<std::size_t>(Capability::kVirtualTime) + 1;
}
static_assert(RowsFollowTheEnum());

}  // namespace

std::span<const CapabilityInfo> CapabilityTable() { return kTable; }

}  // namespace fabric
