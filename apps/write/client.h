// The client: offers two regions of its memory, asks for random data, and checks what came.

#ifndef APPS_WRITE_CLIENT_H_
#define APPS_WRITE_CLIENT_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/common/network.h"
#include "apps/write/messages.h"
#include "apps/write/verification.h"
#include "coro/task.h"
#include "coro/time.h"

namespace apps::write {

struct ClientOptions {
  std::size_t region_bytes = kRegionBytes;
  std::uint64_t page_bytes = kDefaultPageBytes;
  std::uint64_t page_count = kDefaultPageCount;  // per region
  CompletionMode completion = CompletionMode::kCount;
  std::uint64_t data_seed = kDefaultDataSeed;
  std::uint32_t remote_context = kRemoteContext;
  std::uint64_t session = 1;  // tells this client's messages from others'
  coro::Duration silence_timeout =
      std::chrono::seconds(10);  // without any write, after which the server is given up
  // Called with the number of announced writes whenever it grew, and what is expected.
  std::function<void(std::uint64_t arrived, std::uint64_t expected)> progress =
      [](std::uint64_t, std::uint64_t) {};
};

// The request that these options stand for. kInvalidArgument: they make no sense; see CheckRequest.
absl::StatusOr<RandomFillMessage> MakeRequest(const ClientOptions& options);

// What a transfer came to.
struct TransferReport {
  Verification verification;
  std::uint64_t bytes = 0;
  coro::Duration elapsed{};  // on the loop's clock, from the request to the last announcement
};

// Not thread-safe. Dies before its network, and after its Run.
class Client {
 public:
  // Allocates the two regions and the message buffer. Errors: those of registration, and of
  // MakeRequest.
  static absl::StatusOr<std::unique_ptr<Client>> Open(Network& network,
                                                      const ClientOptions& options);

  // One transfer. kInvalidArgument: not an address of this fabric. kDeadlineExceeded, kUnavailable:
  // the server is silent, or gone. kFailedPrecondition: it refused, with its words. Wrong data is a
  // report, not an error.
  coro::Task<absl::StatusOr<TransferReport>> Run(fabric::Address server);

 private:
  Client(Network& network, const ClientOptions& options, RandomFillMessage request)
      : network_(network), options_(options), request_(std::move(request)) {}

  coro::Task<absl::Status> Exchange(fabric::Peer server);
  coro::Task<absl::Status> SendMessage(fabric::Peer server, const Message& message,
                                       std::string what);
  // Keeps the server's refusal, should one come.
  coro::Task<absl::Status> ListenForRefusal();

  Network& network_;
  const ClientOptions options_;
  const RandomFillMessage request_;
  std::array<fabric::async::BufferRef, kRegionCount> regions_;
  fabric::async::BufferRef message_;
  fabric::async::BufferRef answer_;
  std::string refusal_;
};

}  // namespace apps::write

#endif  // APPS_WRITE_CLIENT_H_
