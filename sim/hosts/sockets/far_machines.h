// The machines of our network, as sockets reach them: all of them, including those of this
// computer.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_FAR_MACHINES_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_FAR_MACHINES_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/sockets/ear.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/mac.h"
#include "drydock/sim/hosts/sockets/membership.h"
#include "drydock/sim/hosts/sockets/recall.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/hosts/sockets/socket_channel.h"

namespace drydock::sim {

// Not thread-safe: belongs to the world of this process.
class FarMachines {
 public:
  struct Options {
    std::string network;  // tcp://HOST:PORT
    std::string key_file;
    std::uint64_t fabric = 0;
    NetworkTerms terms;
    std::uint64_t host = 0;  // see HostNumber
  };
  // Becomes a machine of the network; waits. Codes: those of CallRendezvous, Membership::Join
  // and Ear::Make.
  static absl::StatusOr<std::unique_ptr<FarMachines>> Join(const Options& options);
  ~FarMachines();
  FarMachines(const FarMachines&) = delete;
  FarMachines& operator=(const FarMachines&) = delete;

  // Which machine we are.
  const Seat& seat() const { return membership_->seat(); }
  // Whether the machine in the slot shares no memory with us: it is reached by sockets only.
  bool Has(std::uint8_t slot) const;
  // The incarnation that is in such a slot; 0: none.
  std::uint32_t LivingIn(std::uint8_t slot) const;
  // Counts comings and goings.
  std::uint32_t epoch() const { return membership_->epoch(); }
  // A channel to the slot's machine, one at a time. We outlive it. REQUIRES: LivingIn is not 0.
  std::unique_ptr<Channel> MakeChannel(std::uint8_t slot);

  // In a forked child, whose parent's machine it is: nothing is sent any more. Takes no lock.
  void Abandon();

  // Looks at all sockets. Calls `visit` with each slot from which something has come, or whose
  // connection has ended; a channel that `visit` makes adopts the connection. True: `visit` was
  // called.
  bool Poll(const std::function<void(std::uint8_t slot)>& visit);

  // `heard` is called from another thread when something comes after Listen, once. Is called once,
  // before Listen.
  void OnArrival(std::function<void()> heard);
  // True: something is there already.
  bool Listen();
  // When Poll has something to do although nothing has come; coro::kNever: it has not.
  coro::Time due() const {
    return std::min({deaf_until_, recall_.has_value() ? recall_->due() : coro::kNever,
                     strangers_.empty() ? coro::kNever : strangers_.front()->since + kPatience});
  }

 private:
  // Strangers that do not prove themselves within this time are dropped.
  static constexpr coro::Duration kPatience = std::chrono::seconds(5);

  // A caller that has not proven yet that it has the key.
  struct Stranger {
    Stream stream;
    Called called;
    coro::Time since;
    bool greeted = false;
  };
  using Visit = std::function<void(std::uint8_t slot)>;

  // What a machine has when it has joined.
  struct Joined {
    Key key;
    std::uint64_t fabric;
    SocketAddress rendezvous;
    Socket listening;
    std::unique_ptr<Membership> membership;
  };
  FarMachines(Joined joined, int epoll, std::unique_ptr<Ear> ear);

  void Watch(int fd, std::uint32_t events, std::uint64_t tag);
  void ListenToRendezvous();
  void ReturnToRendezvous();
  void DropOldStrangers();
  void ListenAgain();
  void Accept();
  void ListenToStrangers(const Visit& visit);
  // False: the connection is to be dropped: its caller has proven itself or failed to.
  bool ListenTo(Stranger& stranger, const Visit& visit);
  void Admit(Stranger& stranger, const Visit& visit);

  const Key key_;
  coro::SteadyClock clock_;
  Socket listening_;
  std::unique_ptr<Membership> membership_;
  const std::uint64_t fabric_;
  const SocketAddress rendezvous_;
  std::optional<Recall> recall_;  // it is out of reach
  const int epoll_;
  std::vector<std::unique_ptr<Stranger>> strangers_;
  coro::Time deaf_until_ = coro::kNever;              // kNever: we listen
  std::array<SocketChannel*, kMachines> channels_{};  // null: none
  Stream* arrived_ = nullptr;  // the next channel adopts it, while Admit is at work
  std::uint8_t arrived_from_ = 0;
  std::unique_ptr<Ear> ear_;
  bool abandoned_ = false;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_FAR_MACHINES_H_
