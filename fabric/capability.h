// Abilities that only some backends have, and how a caller queries them.
//
// There are two kinds. A *fact* about a backend's behaviour is a Capability in
// NicInfo::capabilities: a program reads it before it relies on it, and the contract suite expects
// behaviour by it. A *power* is a small interface that a caller asks an object for, by type; null
// means that the object lacks it:
//
//   if (auto* blocking = queue.power<fabric::BlockingWait>()) blocking->Wait(deadline);

#ifndef DRYDOCK_FABRIC_CAPABILITY_H_
#define DRYDOCK_FABRIC_CAPABILITY_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace drydock::fabric {

enum class Capability : std::uint8_t {
  kMessages,              // Send and Recv
  kRemoteWrite,           // Write
  kRemoteRead,            // Read
  kImmediateData,         // 32-bit immediates on Send and Write
  kUnsolicitedImmediate,  // the immediate of a Write needs no posted receive at the target
  kLongMessages,          // messages longer than one packet
  kSendOrder,             // messages of one endpoint to one peer arrive in the order of posting
  kWriteOrder,       // bytes of an earlier Write to a peer are placed before those of a later one
  kMutualInsertion,  // remote access works only when the target has inserted the initiator as well
  kBlockingWait,     // completion queues can be opened with BlockingWait
  kInject,           // a Send's bytes can be taken during the post
  kSourceAddress,    // completions of receives name the sender
  kReceiverNotReadyRetry,  // how often a send without a receive is retried can be chosen
  kSolicitedImmediate,     // an endpoint can be opened whose receives take the immediates of writes
  kTaggedMessages,         // the power TaggedMessages
  kDirectedReceive,        // receives can be limited to one sender
  kMultiReceive,           // one posted buffer takes several messages
  kCancel,                 // the power Cancel
  kAtomics,                // the power Atomics
  kCounters,               // completion counters
  kDatagram,               // unreliable datagram endpoints
  kReadRights,  // a region without Access::kRemoteRead is closed to reads though it may be sent
                // from (EFA and rxm read from the source of a long message)
  kLocalRegistration,  // buffers of requests must be of a region, empty ones of messages too,
                       // unless the bytes travel inside the request
  kRemoteCounts,       // counters count peers' plain writes and reads, which make no completion
};

struct CapabilityInfo {
  Capability capability;
  std::string_view name;     // for tables and JSON: snake_case
  std::string_view meaning;  // one line
};

// All of them, in the order of the enum. Static storage.
std::span<const CapabilityInfo> CapabilityTable();

// A set of facts. A value.
class CapabilitySet {
 public:
  constexpr CapabilitySet() = default;
  constexpr CapabilitySet(std::initializer_list<Capability> capabilities) {
    for (Capability capability : capabilities) Add(capability);
  }

  constexpr void Add(Capability capability) { bits_ |= Bit(capability); }
  constexpr void Remove(Capability capability) { bits_ &= ~Bit(capability); }
  constexpr bool Has(Capability capability) const { return (bits_ & Bit(capability)) != 0; }

  friend constexpr bool operator==(CapabilitySet, CapabilitySet) = default;

 private:
  static constexpr std::uint64_t Bit(Capability capability) {
    return std::uint64_t{1} << static_cast<unsigned>(capability);
  }

  std::uint64_t bits_ = 0;
};

// Identifies a power. Compared by address: each power declares one as `static constexpr PowerId
// kPower{"name"};`.
struct PowerId {
  std::string_view name;
};

// Base of every object of the contract: returns its powers.
class Capable {
 public:
  virtual ~Capable() = default;

  // The power P of this object, or null if it lacks it. Valid as long as the object.
  template <typename P>
  P* power() {
    return static_cast<P*>(QueryPower(P::kPower));
  }

  // For wrappers and implementations: a pointer to exactly the type P whose id is asked for, or
  // null. The default has no powers. Thread-safe.
  virtual void* QueryPower(const PowerId& power) {
    static_cast<void>(power);
    return nullptr;
  }
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_CAPABILITY_H_
