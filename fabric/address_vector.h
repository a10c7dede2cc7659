// The table of peers that a program can reach.

#ifndef DRYDOCK_FABRIC_ADDRESS_VECTOR_H_
#define DRYDOCK_FABRIC_ADDRESS_VECTOR_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric {

// What it is: a table from addresses to Peers. On EFA inserting creates an address handle, and a
// peer may access our memory only after we have inserted it (Capability::kMutualInsertion).
// Ownership: belongs to the caller that opened it; endpoints that use it keep it working.
// Threads: one thread at a time, together with the endpoints that use it. Blocking: may enter the
// kernel. Destruction: closes, as CompletionQueue does.
class AddressVector : public Capable {
 public:
  // kInvalidArgument: not an address of this fabric (length, or unusable content).
  // kResourceExhausted: the device is out of address handles; libfabric does not say that, and its
  // backend answers kInvalidArgument, with both reasons. An address that is there already is the
  // same Peer, and is not counted: one Remove forgets it.
  virtual absl::StatusOr<Peer> Insert(const Address& address) = 0;

  // Forgets a peer. Requests to it that are posted afterwards fail with kUnknownPeer; those in
  // flight complete, successfully or not. kNotFound: there is no such peer.
  virtual absl::Status Remove(Peer peer) = 0;

  // kNotFound: there is no such peer.
  virtual absl::StatusOr<Address> Lookup(Peer peer) const = 0;

  // kBusy (FailedPrecondition): an open endpoint uses it. Closing twice is harmless.
  virtual absl::Status Close() = 0;

  // See CompletionQueue::Unwrap.
  virtual AddressVector& Unwrap() { return *this; }
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_ADDRESS_VECTOR_H_
