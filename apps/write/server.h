// The server: makes random data and writes it into its clients' memory.

#ifndef APPS_WRITE_SERVER_H_
#define APPS_WRITE_SERVER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "apps/common/network.h"
#include "apps/write/messages.h"
#include "coro/task.h"
#include "coro/time.h"

namespace apps::write {

struct ServerOptions {
  std::uint64_t clients = 0;  // how many transfers to serve before Run returns; 0: for ever
  std::size_t region_bytes = kRegionBytes;
  coro::Duration write_timeout =
      std::chrono::seconds(10);  // of one write: the client is given up then
  coro::Duration session_timeout = std::chrono::seconds(60);  // between CONNECT and REQUEST
  // Gets one line for everything that happens; `bad` for what a person should look at.
  std::function<void(absl::string_view line, bool bad)> log = [](absl::string_view, bool) {};
};

// Serves one request at a time; clients may connect meanwhile. Whatever a client sends or does not
// send, and however it disappears, costs one line of the log: the server stays up for the next one.
// Not thread-safe. Dies before its network, and after its Run.
class Server {
 public:
  // Allocates the two data regions and the two message buffers. Errors: those of registration.
  static absl::StatusOr<std::unique_ptr<Server>> Open(Network& network,
                                                      const ServerOptions& options);

  // Returns after options.clients transfers, or when the endpoint fails.
  coro::Task<absl::Status> Run();

 private:
  struct Session {
    fabric::Peer peer{};
    std::array<RemoteRegion, kRegionCount> regions;
    coro::Time connected;
  };

  Server(Network& network, const ServerOptions& options) : network_(network), options_(options) {}

  // Each handles one message; an error is for the log.
  coro::Task<absl::Status> Handle(std::span<const std::byte> bytes);
  absl::Status HandleConnect(const ConnectMessage& message);
  coro::Task<absl::Status> HandleRequest(const RandomFillMessage& request);

  // Writes every page; the first failure otherwise.
  coro::Task<absl::Status> Transfer(const Session& session, const RandomFillMessage& request);
  coro::Task<absl::Status> WritePage(const Session& session, const RandomFillMessage& request,
                                     std::size_t region, std::size_t k, bool announce);
  coro::Task<absl::Status> Refuse(const Session& session, std::uint64_t id, std::string reason);

  absl::Status ReplaceAbandonedBuffers();
  void Forget(std::uint64_t id);
  void ForgetOldSessions();

  Network& network_;
  const ServerOptions options_;
  std::array<fabric::async::BufferRef, kRegionCount> data_;
  fabric::async::BufferRef messages_;
  std::map<std::uint64_t, Session> sessions_;
  std::uint64_t served_ = 0;
};

}  // namespace apps::write

#endif  // APPS_WRITE_SERVER_H_
