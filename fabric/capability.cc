#include "drydock/fabric/capability.h"

#include <array>

namespace drydock::fabric {
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
    CapabilityInfo{Capability::kMutualInsertion, "mutual_insertion",
                   "remote access needs the initiator in the target's address vector"},
    CapabilityInfo{Capability::kBlockingWait, "blocking_wait",
                   "a thread can sleep until a completion arrives"},
    CapabilityInfo{Capability::kInject, "inject",
                   "the bytes of a send can be taken during the post"},
    CapabilityInfo{Capability::kSourceAddress, "source_address",
                   "completions of receives name the sender"},
    CapabilityInfo{Capability::kReceiverNotReadyRetry, "receiver_not_ready_retry",
                   "the number of retries of a send without a receive can be chosen"},
    CapabilityInfo{Capability::kSolicitedImmediate, "solicited_immediate",
                   "receives can be made to take the immediates of writes"},
    CapabilityInfo{Capability::kTaggedMessages, "tagged_messages", "messages matched by tag"},
    CapabilityInfo{Capability::kDirectedReceive, "directed_receive",
                   "a receive can be limited to one sender"},
    CapabilityInfo{Capability::kMultiReceive, "multi_receive",
                   "one posted buffer takes several messages"},
    CapabilityInfo{Capability::kCancel, "cancel", "a posted receive can be taken back"},
    CapabilityInfo{Capability::kAtomics, "atomics", "atomic operations on a peer's memory"},
    CapabilityInfo{Capability::kCounters, "counters", "completions can be counted instead of read"},
    CapabilityInfo{Capability::kDatagram, "datagram", "unreliable datagram endpoints"},
    CapabilityInfo{Capability::kReadRights, "read_rights",
                   "memory that may be sent from is closed to reads unless they are allowed"},
    CapabilityInfo{Capability::kLocalRegistration, "local_registration",
                   "a request whose buffer is of no region is refused at the post"},
    CapabilityInfo{Capability::kRemoteCounts, "remote_counts",
                   "counters count peers' plain writes and reads, which make no completion"},
};

constexpr bool RowsFollowTheEnum() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].capability) != i) return false;
  }
  return kTable.size() == static_cast<std::size_t>(Capability::kRemoteCounts) + 1;
}
static_assert(RowsFollowTheEnum());

}  // namespace

std::span<const CapabilityInfo> CapabilityTable() { return kTable; }

}  // namespace drydock::fabric
