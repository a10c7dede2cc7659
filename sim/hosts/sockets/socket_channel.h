// A channel to a machine on another computer: a connection in each direction, made by the sender.
//
// A connection that ends takes the other one with it, and everything that was under way. The next
// message makes a new one: to both sides it is as if the other machine had gone and come back.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_SOCKET_CHANNEL_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_SOCKET_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "drydock/sim/hosts/channel.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/mac.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/hosts/sockets/stream.h"

namespace drydock::sim {

class SocketChannel final : public Channel {
 public:
  struct Ends {
    Key key;
    Seat us;
    Seat them;
    SocketAddress address;  // where they listen
  };
  // `dialed` is told of each socket that wants to be listened to for OnOut, `gone` of our end.
  SocketChannel(const Ends& ends, std::function<void(int fd)> dialed, std::function<void()> gone)
      : ends_(ends), dialed_(std::move(dialed)), gone_(std::move(gone)) {}
  ~SocketChannel() override { gone_(); }

  // A connection that the other machine made, and proved. A second one ends the channel: the first
  // is from before the other machine lost us.
  bool Adopt(Stream& stream);
  // In a forked child: it ends, and takes nothing more.
  void Abandon() { ended_ = true; }
  // Something has happened on our connection's socket, or on theirs.
  void OnOut();
  void OnIn() {
    if (in_.has_value()) in_->Receive();
  }
  // Whether the other machine's connection is there; its descriptor.
  bool open_in() const { return in_.has_value() && !in_->ended(); }
  int in_fd() const { return in_->fd(); }

  // --- Channel ---
  std::byte* Reserve(std::size_t bytes) override;
  void Publish() override;
  bool drained() const override { return !out_.has_value() || out_->drained(); }
  bool Next(std::span<const std::byte>& message) override;
  void Release() override { in_->Release(); }
  State state() const override;

 private:
  void Dial();

  const Ends ends_;
  const std::function<void(int fd)> dialed_;
  const std::function<void()> gone_;
  std::optional<Caller> caller_;
  std::optional<Stream> out_;
  bool proven_ = false;  // on out_
  std::optional<Stream> in_;
  bool ended_ = false;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_SOCKET_CHANNEL_H_
