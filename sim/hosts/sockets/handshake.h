// How the two ends of a connection prove to each other that they have the network's key, before
// either believes anything else.
//
//   caller                                callee
//     Hello: from, to, a number      ──►
//                                    ◄──  Challenge: a number of its own, mac(all of it, "s")
//     Proof: mac(all of it, "c")     ──►
//
// The numbers are fresh: a recording of one connection proves nothing on another. The key itself is
// never sent. Nothing after the handshake is authenticated or encrypted.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_HANDSHAKE_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_HANDSHAKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drydock/sim/hosts/sockets/mac.h"

namespace drydock::sim {

// A machine of a network of several computers.
struct Seat {
  std::uint64_t network = 0;  // tells this network from all others, past ones too
  std::uint32_t incarnation = 0;
  std::uint8_t slot = 0;
  std::array<std::uint8_t, 3> unused{};
  bool operator==(const Seat&) const = default;
};

enum class Purpose : std::uint64_t {
  kMember = 1,  // to the rendezvous
  kPeer = 2,    // between two machines: messages of `from` to `to`
};

struct Hello {
  std::uint64_t version = 0;
  Purpose purpose = Purpose::kMember;
  Seat from;
  Seat to;
  std::array<std::byte, 16> number{};
};
static_assert(sizeof(Hello) == 64);

struct Challenge {
  std::array<std::byte, 16> number{};
  Mac mac{};
};

struct Proof {
  Mac mac{};
};

// The longest message before the handshake is over.
inline constexpr std::size_t kLongestOfHandshake = sizeof(Hello);

// The caller's end of the handshake.
class Caller {
 public:
  Caller(const Key& key, Purpose purpose, const Seat& from = {}, const Seat& to = {});

  const Hello& hello() const { return hello_; }
  // The answer; absent: the other end has another key, or is no rendezvous and no machine.
  std::optional<Proof> Answer(std::span<const std::byte> challenge) const;

 private:
  const Key key_;
  Hello hello_;
};

// The callee's end.
class Called {
 public:
  explicit Called(const Key& key) : key_(key) {}

  // The answer; absent: that is no Hello of this version.
  std::optional<Challenge> Greet(std::span<const std::byte> hello);
  // Whether the caller has the key. REQUIRES: Greet had an answer.
  bool Believes(std::span<const std::byte> proof) const;
  // Not to be believed before that.
  const Hello& hello() const { return hello_; }

 private:
  const Key key_;
  Hello hello_;
  Challenge challenge_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_HANDSHAKE_H_
