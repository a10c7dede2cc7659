// The messages between a machine and the rendezvous, after the handshake.
//
//   machine                                                      rendezvous
//     kJoin: fabric, terms, host, port     ──►
//                                          ◄──  kNews of each machine that is there
//                                          ◄──  kWelcome: network, slot, incarnation;
//                                               or kRefused: why
//                                          ◄──  kNews whenever a machine comes or goes
//     kKnown: the number of that news      ──►
//
// A machine that was out of reach calls again, and has kept its slot:
//
//     kReturn: fabric, network, slot,      ──►
//              incarnation
//                                          ◄──  kNews of each machine that is there
//                                          ◄──  kWelcome, or kRefused
//
// A program that may become a machine, or more than one after the other, says so, and nothing else:
//
//     kProgram                             ──►
//
// A machine is welcomed once all the others have acknowledged the news of it, so that any machine
// that is given its address can use it, and after 1 s in any case: a machine that has not
// acknowledged the news by then has stopped.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_CONTROL_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_CONTROL_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "drydock/coro/time.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/socket.h"

namespace drydock::sim {

enum class ControlType : std::uint32_t {
  kJoin = 1,
  kNews,
  kKnown,
  kWelcome,
  kRefused,
  kReturn,
  kProgram
};

// For so long the rendezvous keeps the seat of a machine that is out of reach.
inline constexpr coro::Duration kSeatIsKept = std::chrono::minutes(10);

struct Control {
  ControlType type = ControlType::kJoin;
  std::uint32_t present = 0;      // kNews: it comes, or it goes
  Seat seat;                      // kNews, kWelcome, kReturn
  std::uint64_t number = 0;       // of the news
  std::uint64_t fabric = 0;       // kJoin, kReturn: see FabricNumber
  std::uint64_t fingerprint = 0;  // kJoin: see NetworkTerms
  std::uint64_t host = 0;         // kJoin, kNews: see HostNumber
  SocketAddress address;          // kJoin: only the port counts; kNews
  std::array<char, 192> text{};   // kJoin: the profile; kRefused: why

  void SetText(absl::string_view words) { words.copy(text.data(), text.size() - 1); }
  std::string Text() const { return std::string(text.data(), strnlen(text.data(), text.size())); }
};
static_assert(std::is_trivially_copyable_v<Control>);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_CONTROL_H_
