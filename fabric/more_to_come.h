// A batch over several posts: a power of endpoints whose backend can leave the NIC unrung.
//
//   auto* batch = endpoint.power<fabric::MoreToCome>();
//   batch->SetMoreToCome(true);
//   endpoint.Write(first);        // waits at the endpoint
//   batch->SetMoreToCome(false);
//   endpoint.Write(second);       // the NIC hears of both
//
// One post of several requests rings once anyway (fabric/endpoint.h), and needs none of this.

#ifndef DRYDOCK_FABRIC_MORE_TO_COME_H_
#define DRYDOCK_FABRIC_MORE_TO_COME_H_

#include "drydock/fabric/capability.h"

namespace drydock::fabric {

// What it is: libfabric's FI_MORE, for as long as it is set. Ownership and threads: as its
// endpoint. Simulated endpoints of the fabric efa-direct have it.
class MoreToCome {
 public:
  static constexpr PowerId kPower{"MoreToCome"};
  virtual ~MoreToCome() = default;

  // While `more` is set, sends, writes and reads that are accepted may wait at the endpoint: the
  // NIC is told of them with the next post after it was taken back, and before only where a batch
  // is full. Taking it back rings for nothing: a batch without a last post is never served, and its
  // requests never complete.
  virtual void SetMoreToCome(bool more) = 0;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_MORE_TO_COME_H_
