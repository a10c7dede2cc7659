#include "drydock/sim/hosts/sockets/socket_channel.h"

#include <utility>

#include "absl/status/statusor.h"

namespace drydock::sim {
namespace {

// Bytes that the kernel does not take at once, at most.
constexpr std::size_t kMostUnsent = 1 << 20;

}  // namespace

bool SocketChannel::Adopt(Stream& stream) {
  if (in_.has_value()) {
    ended_ = true;
    return false;
  }
  in_.emplace(std::move(stream));
  return true;
}

// ---- Out ----

void SocketChannel::Dial() {
  absl::StatusOr<Socket> socket = Socket::Dial(ends_.address);
  if (!socket.ok()) {
    ended_ = true;
    return;
  }
  caller_.emplace(ends_.key, Purpose::kPeer, ends_.us, ends_.them);
  out_.emplace(*std::move(socket), kLongestOfHandshake, kMostUnsent);
  out_->Say(caller_->hello());
  dialed_(out_->fd());
}

void SocketChannel::OnOut() {
  if (!out_.has_value()) return;  // it was the last channel's
  out_->Send();
  while (out_->Receive()) {
  }
  std::span<const std::byte> message;
  if (!out_->Next(message)) return;
  const std::optional<Proof> proof =
      proven_ ? std::nullopt : caller_->Answer(message);  // after that they have nothing to say
  proven_ = proof.has_value();
  ended_ = ended_ || !proven_;
  out_->Release();
  if (proven_) out_->Say(*proof);
}

std::byte* SocketChannel::Reserve(std::size_t bytes) {
  if (!out_.has_value() && !ended_) Dial();
  return proven_ && !ended_ ? out_->Reserve(bytes) : nullptr;
}

void SocketChannel::Publish() {
  if (out_.has_value()) out_->Send();
}

// ---- In ----

bool SocketChannel::Next(std::span<const std::byte>& message) {
  return in_.has_value() && in_->Next(message);
}

// A process that ends closes both connections: its messages on one may still be on their way when
// the other is known to be over. One that we cannot reach is silent, although it reaches us.
Channel::State SocketChannel::state() const {
  if (in_.has_value() && in_->garbage()) return State::kGarbage;
  const bool out_ended = out_.has_value() && (out_->ended() || out_->garbage());
  const bool unreachable = out_ended && (!proven_ || out_->cut());
  const bool ended = ended_ || unreachable || (in_.has_value() ? in_->ended() : out_ended);
  return ended ? State::kEnded : State::kSound;
}

}  // namespace drydock::sim
