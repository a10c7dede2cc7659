// Makes peers known to an engine's NICs, one peer after the other, and their memory to the program.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_PEER_INTRODUCTIONS_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_PEER_INTRODUCTIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/transfer/balance.h"
#include "drydock/fabric/async/transfer/descriptor.h"
#include "drydock/fabric/async/transfer/memory.h"
#include "drydock/fabric/async/transfer/messages.h"
#include "drydock/fabric/async/transfer/rail.h"

namespace drydock::fabric::async::transfer {

// Owns neither the NICs nor their balance, which outlive its last call. Dies after every Connect,
// and after the NICs, which may still have to answer. Not thread-safe.
class PeerIntroductions {
 public:
  // `balance` has the same NICs, and is given each peer that one of them reaches. `same_nic_only`:
  // NIC i is to reach the peer's NIC i only.
  PeerIntroductions(std::span<const std::unique_ptr<Rail>> rails, Balance& balance,
                    bool same_nic_only)
      : rails_(rails), balance_(balance), same_nic_only_(same_nic_only) {}
  PeerIntroductions(const PeerIntroductions&) = delete;
  PeerIntroductions& operator=(const PeerIntroductions&) = delete;

  // Returns the peer's number, once every NIC has tried to insert its addresses. kInvalidArgument:
  // a descriptor without NICs, or with more than kMostNics. No NIC reaches any of the peer's: the
  // error of an insertion. Calls wait for each other.
  coro::Task<absl::StatusOr<std::uint32_t>> Connect(PeerDescriptor peer);
  // kInvalidArgument: no such peer, another number of NICs than it has, or memory of no bytes.
  absl::StatusOr<RemoteRef> Import(std::uint32_t peer, MemoryDescriptor descriptor) const;

  // To be called for each report kIntroduced of a NIC.
  void Answered() {
    if (--unanswered_ == 0) changed_.NotifyAll();
  }

 private:
  class Turn;

  void AskNics(const PeerDescriptor& peer);
  // Every NIC has answered: the peer's number, or why none reaches it.
  absl::StatusOr<std::uint32_t> AddPeer();

  const std::span<const std::unique_ptr<Rail>> rails_;
  Balance& balance_;
  const bool same_nic_only_;
  std::vector<Introduction> introductions_;  // of the peer that is being connected, by NIC
  std::size_t unanswered_ = 0;
  bool connecting_ = false;
  coro::WaitList changed_{"its NICs to know the peer"};
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_PEER_INTRODUCTIONS_H_
