// Decides which of our NICs a chunk goes out by, and which of the peer's NICs receives it.
//
// Ours: as the policy says, of those that live, have room in their window, and would not be the
// last to finish. The peer's: the one that has received least from us, so that none gets more than
// its share, whatever the policy; the first one differs from sender to sender. A way from one NIC
// to another that failed is avoided while there is another one.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_BALANCE_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_BALANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/policy.h"
#include "drydock/fabric/async/transfer/share.h"

namespace drydock::fabric::async::transfer {

struct BalanceOptions {
  std::vector<std::uint32_t> windows;     // pages that each NIC may have been given
  std::vector<std::uint32_t> near_first;  // NICs, nearest first; those left out come last
};

// From one of our NICs to one of a peer's.
struct Route {
  std::uint16_t nic = 0;
  std::uint16_t remote = 0;
  bool failed_before = false;

  friend bool operator==(const Route&, const Route&) = default;
};

// A chunk that waits to be handed out.
struct Wish {
  std::uint32_t peer = 0;
  Policy policy = Policy::kRoundRobin;
  std::size_t nic = 0;         // of kPinned
  std::uint64_t bytes = 0;     // of the chunk
  std::uint64_t left = 0;      // bytes of all transfers not handed out yet, this chunk's among them
  std::optional<Route> avoid;  // where it has failed
};

// Not thread-safe.
class Balance {
 public:
  explicit Balance(const BalanceOptions& options);

  // `reachable`: by our NIC and the peer's, whether there is a way at all. `first`: any number,
  // different from sender to sender. Returns the peer's number, from 0 on.
  std::uint32_t AddPeer(const std::vector<std::vector<bool>>& reachable, std::uint64_t first);
  std::size_t peer_count() const { return peers_.size(); }
  // The peer's NICs.
  std::size_t remote_count(std::uint32_t peer) const { return peers_[peer].nics.size(); }

  enum class Answer {
    kFound,
    kBusy,  // later, when something has ended
    kNone,  // no NIC that lives has a way to the peer
  };
  Answer Choose(const Wish& wish, Route& route);
  // The peer's NIC for another chunk by `nic`; absent: no way is left that has not failed.
  std::optional<std::uint16_t> ChooseRemote(std::uint32_t peer, std::size_t nic,
                                            std::uint64_t bytes, std::uint64_t left);

  void Given(std::uint32_t peer, const Route& route, std::uint32_t pages, std::uint64_t bytes,
             coro::Time now);
  void Ended(std::uint32_t peer, const Route& route, std::uint32_t pages, std::uint64_t bytes,
             std::uint64_t failed_bytes, coro::Time now);
  void Failed(std::uint32_t peer, const Route& route, bool for_good);
  void Worked(std::uint32_t peer, const Route& route);
  void Died(std::size_t nic) { nics_[nic].alive = false; }

  bool alive(std::size_t nic) const { return nics_[nic].alive; }
  const Share& share(std::size_t nic) const { return nics_[nic].share; }
  const Share& remote_share(std::uint32_t peer, std::size_t remote) const {
    return peers_[peer].nics[remote];
  }
  // Pages that each NIC may be given now.
  std::uint32_t room(std::size_t nic) const {
    const Nic& one = nics_[nic];
    return one.alive && one.pages < one.allowed ? one.allowed - one.pages : 0;
  }
  // Whether any NIC has room; whether any lives.
  bool HasRoom() const;
  bool AnyAlive() const;

 private:
  struct Nic {
    Share share;
    std::uint32_t window = 0;
    std::uint32_t allowed = 0;  // grows to the window: its speed is not known yet
    std::uint32_t pages = 0;    // that it was given and that have not ended
    bool alive = true;
  };
  enum class Way : std::uint8_t { kUp, kFailed, kNone };
  struct Peer {
    std::vector<Share> nics;
    std::vector<Way> ways;  // by our NIC, by its NIC
    std::uint64_t first = 0;
    std::uint64_t under_way = 0;  // pages
  };

  Way WayOf(const Peer& peer, std::size_t nic, std::size_t remote) const {
    return peer.ways[nic * peer.nics.size() + remote];
  }
  // Whether our NIC has a way that is as good as `at_least`.
  bool Reaches(const Peer& peer, std::size_t nic, Way at_least) const;
  // The peer's NIC for a chunk that goes by ours; absent: none.
  std::optional<std::size_t> PickRemote(const Peer& peer, std::size_t nic, Way at_least,
                                        const Wish& wish);
  Answer Pick(const Wish& wish, Way at_least, const std::vector<std::size_t>& order, Route& route);
  // Our NICs, as the policy wants to try them.
  void Order(const Wish& wish);

  std::uint64_t under_way_ = 0;  // pages, of all NICs
  std::vector<Nic> nics_;
  std::vector<std::uint32_t> near_first_;  // all NICs
  std::vector<Peer> peers_;
  std::size_t turn_ = 0;  // whose it is, of kRoundRobin
  std::vector<std::size_t> order_;
  std::vector<const Share*> shares_;  // scratch, as order_
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_BALANCE_H_
