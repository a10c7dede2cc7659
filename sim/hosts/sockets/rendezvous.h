// The meeting point of the machines of a network on several computers: it gives each machine the
// first free slot, and tells it of all others. Their messages to each other do not pass here.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_RENDEZVOUS_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_RENDEZVOUS_H_

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/sockets/control.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/mac.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/hosts/sockets/stream.h"

namespace drydock::sim {

// Serves any number of fabrics. Not thread-safe.
class Rendezvous {
 public:
  // New connections of one turn, at most: who connects without end keeps nobody from being heard.
  static constexpr int kMostAccepted = 64;

  // `listening`: a socket that listens.
  Rendezvous(Socket listening, const Key& key);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Waits for a message or a connection, a moment at the most, and handles it.
  void Turn();
  // Whether a machine that is within reach, or a program that may become one, is connected.
  bool is_needed() const;

 private:
  // The machines of a fabric.
  struct Network;
  // A caller: a machine, or a connection that is not one yet.
  struct Client;

  void Accept();
  void DropStrangers();
  void Listen(Client& client);
  // False: it talks nonsense.
  bool Handle(Client& client, std::span<const std::byte> message);
  bool HandleControl(Client& client, const Control& control);
  bool Join(Client& client, const Control& control);
  bool Return(Client& client, const Control& control);
  void Refuse(Client& client, absl::string_view why);
  void Introduce(Client& client);
  void Leave(Client& client);
  void MakeRoom(Network& network, std::uint64_t fingerprint);
  void Tell(Network& network, Client& about);
  void WelcomePending();
  void Welcome(Client& client);
  void ClearUp();

  Socket listening_;
  const Key key_;
  const std::size_t most_clients_;
  coro::SteadyClock clock_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<std::uint64_t, std::unique_ptr<Network>> networks_;  // by fabric; at least one machine
  std::uint64_t last_news_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_RENDEZVOUS_H_
