// This machine's place in a network of several computers, and its knowledge of the others.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_MEMBERSHIP_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_MEMBERSHIP_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/shared_file.h"
#include "drydock/sim/hosts/sockets/control.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/hosts/sockets/stream.h"

namespace drydock::sim {

// A number of the shared memory in `folder` that we see: processes with the same number can share
// memory.
std::uint64_t HostNumber(const char* folder = kSharedFolder);

// A machine, as the rendezvous told of it last.
struct Member {
  bool present = false;
  std::uint32_t incarnation = 0;  // 0: no machine ever had the slot
  std::uint64_t host = 0;
  SocketAddress address;
};

// Lasts as long as the rendezvous can be heard; without it the last news stays valid. Not
// thread-safe.
class Membership {
 public:
  // Joins over a call that has just been made; waits. `port`: where we listen. kFailedPrecondition:
  // the rendezvous refuses, for example because the machines are of another profile. kUnavailable:
  // it fell silent.
  static absl::StatusOr<std::unique_ptr<Membership>> Join(Stream stream, std::uint64_t fabric,
                                                          const NetworkTerms& terms,
                                                          std::uint64_t host, std::uint16_t port);

  const Seat& seat() const { return seat_; }
  std::uint64_t host() const { return host_; }
  const Member& At(std::uint8_t slot) const { return members_[slot]; }
  // Counts comings and goings.
  std::uint32_t epoch() const { return epoch_; }

  // Takes the news. False: none will come any more over this connection.
  bool Listen();
  // Whether that is because of the network between us, and not because the rendezvous has ended: a
  // Recall may find it again.
  bool cut() const { return stream_.error() != 0; }
  // Goes on over another connection, over which kReturn was said. Machines that are not in the news
  // that come before the welcome have left meanwhile.
  void Resume(Stream stream);
  int fd() const { return stream_.fd(); }

 private:
  Membership(Stream stream, std::uint64_t host) : stream_(std::move(stream)), host_(host) {}

  void Take(const Control& news);
  // The news are complete.
  void ForgetUnheardOf();

  Stream stream_;
  const std::uint64_t host_;
  Seat seat_;
  std::array<Member, kMachines> members_{};
  std::array<bool, kMachines> heard_of_{};  // since Resume
  std::uint32_t epoch_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_MEMBERSHIP_H_
