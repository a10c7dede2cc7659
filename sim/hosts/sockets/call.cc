#include "drydock/sim/hosts/sockets/call.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/hosts/sockets/control.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/key.h"
#include "drydock/sim/hosts/sockets/network_name.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

constexpr coro::Duration kAnswerTime = 5s;
constexpr coro::Duration kPause = 50ms;
constexpr std::size_t kMostUnsent = 1 << 17;  // an answer to each news of a full network

// Programs number descriptors of their own from 3 on.
constexpr int kOutOfTheirWay = 100;

// Until the socket is a connection, or has failed.
void AwaitConnection(const Stream& stream) {
  coro::SteadyClock clock;
  const coro::Time deadline = clock.Now() + kAnswerTime;
  pollfd connected{.fd = stream.fd(), .events = POLLOUT, .revents = 0};
  int left = static_cast<int>(kAnswerTime / 1ms);
  while (left > 0 && poll(&connected, 1, left) < 0 && errno == EINTR) {
    left = static_cast<int>((deadline - clock.Now()) / 1ms);
  }
}

absl::StatusOr<CalledRendezvous> TryOnce(const NetworkName& name, const std::string& key_file) {
  ASSIGN_OR_RETURN(const SocketAddress address, SocketAddress::Of(name.host, name.port));
  ASSIGN_OR_RETURN(Socket socket, Socket::Dial(address));
  Stream stream(std::move(socket), kLongestOfHandshake, kMostUnsent);
  AwaitConnection(stream);
  stream.Receive();
  if (stream.ended()) return absl::UnavailableError("no server is there");
  // Not before the rendezvous answers: the process that begins the network may still be making the
  // key.
  ASSIGN_OR_RETURN(const Key key, ReadKey(key_file));
  const Caller caller(key, Purpose::kMember);
  stream.Say(caller.hello());
  std::span<const std::byte> challenge;
  if (!Await(stream, challenge, kAnswerTime)) {
    return absl::UnavailableError("the server there is no rendezvous of efa-run");
  }
  const std::optional<Proof> proof = caller.Answer(challenge);
  if (!proof.has_value()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the key of ", key_file,
                     " is not the network's: copy that of the computer where it began"));
  }
  stream.Release();
  stream.Allow(sizeof(Control));
  stream.Say(*proof);
  return CalledRendezvous{.stream = std::move(stream), .key = key};
}

}  // namespace

void KeepThroughExec(Stream stream) {
  static auto& kept = *new Stream(std::move(stream));  // its end would be that of all copies
  Control control;
  control.type = ControlType::kProgram;
  kept.Say(control);
  // A copy that exec does not close. The limit on open files may be below that.
  if (fcntl(kept.fd(), F_DUPFD, kOutOfTheirWay) < 0) fcntl(kept.fd(), F_DUPFD, 3);
}

bool Await(Stream& stream, std::span<const std::byte>& message, coro::Duration patience) {
  coro::SteadyClock clock;
  const coro::Time deadline = clock.Now() + patience;
  while (!stream.Next(message)) {
    const auto left = static_cast<int>((deadline - clock.Now()) / 1ms);
    if (stream.ended() || stream.garbage() || left <= 0) return false;
    const auto events = static_cast<short>(stream.unsent() > 0 ? POLLIN | POLLOUT : POLLIN);
    pollfd ready{.fd = stream.fd(), .events = events, .revents = 0};
    poll(&ready, 1, left);
    stream.Send();
    stream.Receive();
  }
  return true;
}

absl::StatusOr<CalledRendezvous> CallRendezvous(const std::string& network,
                                                const std::string& key_file,
                                                coro::Duration patience) {
  ASSIGN_OR_RETURN(const NetworkName name, ParseNetworkName(network));
  coro::SteadyClock clock;
  const coro::Time deadline = clock.Now() + patience;
  while (true) {
    absl::StatusOr<CalledRendezvous> called = TryOnce(name, key_file);
    const bool later = called.status().code() == absl::StatusCode::kUnavailable;
    if (called.ok()) return called;
    if (!later || clock.Now() + kPause >= deadline) {
      return absl::Status(called.status().code(),
                          absl::StrCat(name.Text(), ": ", called.status().message()));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace drydock::sim
