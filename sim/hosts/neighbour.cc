#include "drydock/sim/hosts/neighbour.h"

#include <optional>

#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/shared_channel.h"

namespace drydock::sim {
namespace {

// Messages that a process which has left has sent before, at most: as many as a ring has room for.
// One that goes on writing is read no further.
constexpr std::size_t kMostLeft = (1 << 20) / sizeof(Message);

}  // namespace

Neighbour::Neighbour(NeighbourContext& context, std::uint8_t slot)
    : context_(context),
      presence_(context.directory, context.far, slot),
      outbox_(context.counters.messages_sent),
      access_(context, presence_),
      proxies_(context, slot, *this),
      remote_(context, slot, access_, outbox_),
      shadows_(context, access_, outbox_, proxies_) {
  Refresh();
}

void Neighbour::Refresh() {
  const std::uint32_t living = presence_.Living();
  if (living == presence_.incarnation()) return;
  if (presence_.present()) {
    // Messages that it sent before it left count.
    if (Take(kMostLeft) != Taken::kNothing) context_.world.timeline().RunFor({});
    if (presence_.present()) Vanish();
  }
  if (presence_.Appear(living)) Appear();
}

void Neighbour::Appear() {
  const std::uint8_t slot = presence_.slot();
  if (presence_.is_far()) {
    channel_ = context_.far->MakeChannel(slot);
  } else {
    channel_ = std::make_unique<SharedChannel>(context_.directory, slot, presence_.incarnation());
  }
  outbox_.Open(*channel_);
  access_.Appear();
  proxies_.Revive();
}

void Neighbour::Vanish() {
  presence_.Vanish();
  access_.Vanish();
  outbox_.Close();
  channel_.reset();
  proxies_.Kill();
  remote_.Lose();
  shadows_.EndAll();
}

void Neighbour::Distrust() {
  ++context_.counters.messages_refused;
  presence_.Distrust();
  Vanish();
}

bool Neighbour::Judge() {
  Channel::State state = presence_.present() ? channel_->state() : Channel::State::kSound;
  if (outbox_.overfull()) state = Channel::State::kGarbage;
  if (state == Channel::State::kGarbage) Distrust();
  if (state == Channel::State::kEnded) Vanish();
  return state != Channel::State::kSound;
}

void Neighbour::CheckPulse() {
  if (busy() && presence_.NoteDeath()) Refresh();
}

bool Neighbour::owes() const {
  if (!presence_.present()) return false;
  return has_waiting() || !channel_->drained() || shadows_.HasAnswers();
}

void Neighbour::Flush() {
  access_.Recheck();
  if (outbox_.Flush() && Judge()) Refresh();
}

Neighbour::Taken Neighbour::Take(std::size_t most) {
  if (!presence_.present()) return Taken::kNothing;
  std::size_t taken = 0;
  std::span<const std::byte> bytes;
  for (; channel_->Next(bytes); channel_->Release()) {
    if (taken == most) return Taken::kSome;
    if (!Handle(bytes)) {
      Distrust();
      return Taken::kAll;
    }
    ++context_.counters.messages_taken;
    ++taken;
  }
  return Judge() || taken > 0 ? Taken::kAll : Taken::kNothing;
}

bool Neighbour::Handle(std::span<const std::byte> bytes) {
  const std::optional<Incoming> incoming = Parse(bytes);
  if (!incoming.has_value()) return false;
  switch (incoming->message.type) {
    case MessageType::kPacket:
      return shadows_.TakePacket(*incoming);
    case MessageType::kEnded:
      shadows_.TakeEnded(incoming->message);
      return true;
    default:
      return remote_.Take(*incoming);
  }
}

}  // namespace drydock::sim
