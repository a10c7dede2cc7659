// Tells a NIC that is dead from one that waits for a silent peer: asks it for a sign of life, by a
// write of no bytes to itself.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_LIFE_SIGN_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_LIFE_SIGN_H_

#include <cstdint>
#include <optional>

#include "drydock/coro/time.h"
#include "drydock/fabric/domain.h"

namespace drydock::fabric::async::transfer {

// At most one question is under way. Not thread-safe.
class LifeSign {
 public:
  // Both outlive this.
  LifeSign(Endpoint& endpoint, AddressVector& peers) : endpoint_(endpoint), peers_(peers) {}

  // Whether it was asked and has not answered; since when.
  const std::optional<coro::Time>& asked() const { return asked_; }
  // Asks; `source` and `target`: any memory of this NIC, of which nothing is read or written. What
  // the endpoint says of the write: after kAgain nothing was asked. kOk, and nothing is asked, when
  // the NIC cannot be: it does not know itself.
  ErrorCode Ask(coro::Time now, const LocalBuffer& source, const RemoteBuffer& target);
  // Whether this completion answers. Also a failed one does: dead NICs complete nothing.
  bool TakeAnswer(Context context);
  // No answer is missed any more: operations have completed meanwhile. One that is on its way may
  // still come.
  void Forget() { asked_.reset(); }
  // It was asked so much later.
  void Postpone(coro::Duration gap) {
    if (asked_.has_value()) *asked_ += gap;
  }

 private:
  Endpoint& endpoint_;
  AddressVector& peers_;
  Peer self_ = kNoPeer;  // the NIC's own endpoint, once it was asked something
  std::uint32_t questions_ = 0;
  std::optional<coro::Time> asked_;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_LIFE_SIGN_H_
