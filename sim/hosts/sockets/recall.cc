#include "drydock/sim/hosts/sockets/recall.h"

#include <chrono>
#include <span>
#include <utility>

#include "absl/status/statusor.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

constexpr coro::Duration kBetweenCalls = 1s;
constexpr coro::Duration kCallTime = 5s;
constexpr coro::Duration kLook = 20ms;  // from one look at a call to the next
constexpr std::size_t kMostUnsent = 1 << 17;

}  // namespace

Recall::Recall(const SocketAddress& rendezvous, const Key& key, std::uint64_t fabric,
               const Seat& seat, coro::Time now)
    : rendezvous_(rendezvous), key_(key), end_(now + kSeatIsKept), due_(now) {
  return_.type = ControlType::kReturn;
  return_.fabric = fabric;
  return_.seat = seat;
}

std::optional<Stream> Recall::Turn(coro::Time now) {
  if (now < due_) return std::nullopt;
  if (now >= end_) {
    stream_.reset();
    due_ = coro::kNever;
    return std::nullopt;
  }
  if (!stream_.has_value()) {
    Dial(now);
  } else if (Talk()) {
    return std::exchange(stream_, std::nullopt);
  }
  const bool over = !stream_.has_value() || stream_->ended() || stream_->garbage();
  if (over || now >= patience_) {
    stream_.reset();
    due_ = now + kBetweenCalls;
  } else {
    due_ = now + kLook;
  }
  return std::nullopt;
}

void Recall::Dial(coro::Time now) {
  absl::StatusOr<Socket> socket = Socket::Dial(rendezvous_);
  if (!socket.ok()) return;
  patience_ = now + kCallTime;
  caller_.emplace(key_, Purpose::kMember);
  stream_.emplace(*std::move(socket), kLongestOfHandshake, kMostUnsent);
  stream_->Say(caller_->hello());
}

bool Recall::Talk() {
  stream_->Send();
  while (stream_->Receive()) {
  }
  std::span<const std::byte> challenge;
  if (!stream_->Next(challenge)) return false;
  const std::optional<Proof> proof = caller_->Answer(challenge);
  if (!proof.has_value()) {
    stream_.reset();  // somebody else's
    return false;
  }
  stream_->Release();
  stream_->Allow(sizeof(Control));
  return stream_->Say(*proof) && stream_->Say(return_);
}

}  // namespace drydock::sim
