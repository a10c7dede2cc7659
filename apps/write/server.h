// The server: makes random data and writes it into its clients' memory.

#ifndef DRYDOCK_APPS_WRITE_SERVER_H_
#define DRYDOCK_APPS_WRITE_SERVER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/common/page_data.h"
#include "drydock/apps/common/session/console.h"
#include "drydock/apps/common/writer_pool.h"
#include "drydock/apps/write/messages.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/async/node.h"

namespace drydock::apps::write {

struct ServerOptions {
  std::uint64_t clients = 0;  // how many transfers to serve before Run returns; 0: for ever
  // Whether a transfer that failed counts as one of them: its client may have got all of its data,
  // and then no other one comes.
  bool count_failed = false;
  DataMemory* memory = &HostData();  // where its data lives
  std::size_t region_bytes = kRegionBytes;
  std::size_t most_transfers = 8;  // at the same time, each with two regions of its own
  // The client is given up when its request waits this long for room, or a write of its transfer,
  // or the message REFUSED, takes this long.
  coro::Duration write_timeout = std::chrono::seconds(10);
  coro::Duration session_timeout = std::chrono::seconds(60);  // between CONNECT and REQUEST
  // How long to wait for a message while no transfer is under way; absent: for ever.
  std::optional<coro::Duration> patience;
  Log log = NoLog;
};

// Serves its clients side by side: one that is slow or dead costs the others nothing. Whatever a
// client sends or does not send, and however it disappears, costs one line of the log and the
// memory of its transfer while its writes last: the server stays up for the next one.
// Not thread-safe. Dies before its node, and after its Run.
class Server {
 public:
  // Allocates the two data regions and the two message buffers. Errors: kUnimplemented when the NIC
  // cannot write; those of registration.
  static absl::StatusOr<std::unique_ptr<Server>> Open(fabric::async::Node& node,
                                                      const ServerOptions& options);

  // Returns after options.clients transfers, and those that run then, or when the endpoint fails.
  // kDeadlineExceeded: options.patience is over, and some have not come. Once.
  coro::Task<absl::Status> Run();

 private:
  struct Session {
    std::uint64_t id = 0;
    fabric::Peer peer{};
    std::array<RemoteRegion, kRegionCount> regions;
    coro::Time connected;
  };

  Server(fabric::async::Node& node, const ServerOptions& options)
      : node_(node),
        options_(options),
        writers_(node, {.regions = kRegionCount,
                        .region_bytes = options.region_bytes,
                        .most = options.most_transfers,
                        .allocate = [this](std::size_t bytes) {
                          return options_.memory->Allocate(node_, bytes);
                        }}) {}

  // Takes messages for ever; what they ask for is done by tasks of `work`.
  coro::Task<absl::Status> Listen(fabric::async::MessageReceiver& receiver, coro::Scope& work);

  // What is wrong with a message is for the log.
  absl::Status Handle(std::span<const std::byte> bytes, coro::Scope& work);
  absl::Status HandleConnect(const ConnectMessage& message, coro::Scope& work);
  absl::Status HandleRequest(const RandomFillMessage& request, coro::Scope& work);

  // One client's transfer, from its request to its end. Its result is in the log, and counted.
  coro::Task<absl::Status> Serve(Session session, RandomFillMessage request);
  // Writes every page; the first failure otherwise.
  coro::Task<absl::Status> Transfer(const Session& session, const RandomFillMessage& request,
                                    const WriterPool::Lease& writer);
  coro::Task<absl::Status> WritePage(const Session& session, const RandomFillMessage& request,
                                     const WriterPool::Lease& writer, std::size_t region,
                                     std::size_t k);
  // Tells the client why, and ends its session.
  coro::Task<absl::Status> Refuse(Session session, std::string reason);
  // A line of the log, if there is a problem.
  void LogProblem(const absl::Status& status, absl::string_view who = "") const;

  // Those that connected and then asked for nothing.
  void ForgetOldSessions();
  // When the server gives up waiting for clients; never while it serves.
  coro::Time AloneAt() const;

  fabric::async::Node& node_;
  const ServerOptions options_;
  WriterPool writers_;
  fabric::async::BufferRef messages_;
  std::map<std::uint64_t, Session> sessions_;  // that connected and have not asked yet
  std::uint64_t served_ = 0;
  std::size_t serving_ = 0;
  coro::Time heard_{};      // a message, or the end of a transfer
  absl::Status failure_;    // of receiving
  coro::WaitList changed_;  // served_ or failure_
};

}  // namespace drydock::apps::write

#endif  // DRYDOCK_APPS_WRITE_SERVER_H_
