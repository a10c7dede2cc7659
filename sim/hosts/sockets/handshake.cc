#include "drydock/sim/hosts/sockets/handshake.h"

#include <cstring>

#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/sockets/key.h"
#include "drydock/sim/hosts/sockets/stream.h"

namespace drydock::sim {
namespace {

// "drydock" and the layout of everything that is sent. The order of its bytes is a part of it.
constexpr std::uint64_t kVersion = 0x0164'7264'796b'0000ull | sizeof(Message);

// Of everything that both ends have sent so far, for one of the two.
Mac MacFor(char side, const Key& key, const Hello& hello, const std::array<std::byte, 16>& number) {
  struct {
    Hello hello;
    std::array<std::byte, 16> number;
    std::uint64_t side;
  } const all{hello, number, static_cast<std::uint64_t>(side)};
  return MacOf(key, std::as_bytes(std::span(&all, 1)));
}

}  // namespace

Caller::Caller(const Key& key, Purpose purpose, const Seat& from, const Seat& to)
    : key_(key), hello_{.version = kVersion, .purpose = purpose, .from = from, .to = to} {
  FillRandomly(hello_.number);
}

std::optional<Proof> Caller::Answer(std::span<const std::byte> challenge) const {
  Challenge given;
  if (!Read(challenge, given)) return std::nullopt;
  if (!IsSame(given.mac, MacFor('s', key_, hello_, given.number))) return std::nullopt;
  return Proof{.mac = MacFor('c', key_, hello_, given.number)};
}

std::optional<Challenge> Called::Greet(std::span<const std::byte> hello) {
  if (!Read(hello, hello_) || hello_.version != kVersion) return std::nullopt;
  FillRandomly(challenge_.number);
  challenge_.mac = MacFor('s', key_, hello_, challenge_.number);
  return challenge_;
}

bool Called::Believes(std::span<const std::byte> proof) const {
  Proof given;
  return Read(proof, given) && IsSame(given.mac, MacFor('c', key_, hello_, challenge_.number));
}

}  // namespace drydock::sim
