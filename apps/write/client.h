// The client: offers two regions of its memory, asks for random data, and checks what came.

#ifndef DRYDOCK_APPS_WRITE_CLIENT_H_
#define DRYDOCK_APPS_WRITE_CLIENT_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/common/page_data.h"
#include "drydock/apps/common/session/console.h"
#include "drydock/apps/write/messages.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/node.h"

namespace drydock::apps::write {

// How far a transfer is.
struct Arrival {
  std::uint64_t arrived = 0;       // announced writes
  coro::Duration since_request{};  // on the loop's clock
};

struct ClientOptions {
  DataMemory* memory = &HostData();  // where the data arrives
  std::size_t region_bytes = kRegionBytes;
  std::uint64_t page_bytes = kDefaultPageBytes;
  std::uint64_t page_count = kDefaultPageCount;  // per region
  CompletionMode completion = CompletionMode::kCount;
  std::uint64_t data_seed = kDefaultDataSeed;
  std::uint32_t remote_context = kRemoteContext;
  std::uint64_t session = 1;  // tells this client's messages from others'
  // The server is given up when no write comes, or it takes no message, for this long.
  coro::Duration silence_timeout = std::chrono::seconds(10);
  // Called whenever writes arrived, and every 100 ms while nothing does.
  std::function<void(const Arrival&)> progress = [](const Arrival&) {};
  Log log = NoLog;
};

// The request that these options stand for. kInvalidArgument: they make no sense; see CheckRequest.
absl::StatusOr<RandomFillMessage> MakeRequest(const ClientOptions& options);

// Not thread-safe. Dies before its node, and after its Run.
class Client {
 public:
  // Allocates the two regions and the message buffer, and inserts the server. Errors:
  // kInvalidArgument when this is not an address of the fabric, or by MakeRequest; kUnimplemented
  // when the NIC cannot be written to; those of registration.
  static absl::StatusOr<std::unique_ptr<Client>> Open(fabric::async::Node& node,
                                                      const ClientOptions& options,
                                                      const fabric::Address& server);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  const RandomFillMessage& request() const { return request_; }

  // One transfer. Once. kDeadlineExceeded, kUnavailable: the server is silent, or gone.
  // kFailedPrecondition: it refused, with its words; those of receiving. Wrong data is a report, not
  // an error.
  coro::Task<absl::StatusOr<TransferReport>> Run();

 private:
  Client(fabric::async::Node& node, const ClientOptions& options, RandomFillMessage request,
         fabric::Peer server)
      : node_(node),
        options_(options),
        request_(std::move(request)),
        expected_(ExpectedAnnouncements(request_)),
        server_(server) {}

  void LogMemory() const;
  // Asks the server, and waits for all writes.
  coro::Task<absl::Status> Exchange(fabric::async::ImmediateCounter& announced);
  coro::Task<absl::Status> SendMessage(const Message& message, std::string what);
  // Returns the server's refusal, should one come, or why none can be received.
  coro::Task<absl::Status> ListenForRefusal();
  // Reports progress for ever, also while there is none.
  coro::Task<absl::Status> KeepReporting();
  void Report();

  fabric::async::Node& node_;
  const ClientOptions options_;
  const RandomFillMessage request_;
  const std::uint64_t expected_;  // announcements
  const fabric::Peer server_;
  std::array<fabric::async::BufferRef, kRegionCount> regions_;
  fabric::async::BufferRef message_;
  fabric::async::BufferRef answer_;
  std::uint64_t seen_ = 0;  // announcements
  coro::Time requested_{};  // when REQUEST was sent; before that, when the client began
  coro::Time heard_{};      // when the last announcement came, or else REQUEST had arrived
};

}  // namespace drydock::apps::write

#endif  // DRYDOCK_APPS_WRITE_CLIENT_H_
