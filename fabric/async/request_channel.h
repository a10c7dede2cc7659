// A typed request and response protocol, over Send and Recv.
//
//   RequestServer server(endpoint, memory, {});                    // one machine
//   server.AddClient(/*session=*/7, peer);
//   server.Handle<ReadBlock, Block>(ReadTheBlock);                 // a coroutine
//   tasks.Spawn(server.Serve());
//
//   RequestClient client(endpoint, peer, memory, {.session = 7});  // another one
//   CO_ASSIGN_OR_RETURN(Block block, co_await client.Call<Block>(ReadBlock{3}, deadline));
//
// Calls are numbered, and a response has its call's number: calls end in any order, and a response
// that comes late or twice is recognised, counted and dropped. Clients with different addresses
// number differently: so is a response to a client that has gone, and whose session another one
// has. What a peer sends is checked before it is used. An endpoint serves one client or one server
// in its life, and receives nothing else.

#ifndef DRYDOCK_FABRIC_ASYNC_REQUEST_CHANNEL_H_
#define DRYDOCK_FABRIC_ASYNC_REQUEST_CHANNEL_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/now_task.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/buffer_pool.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/async/operation_window.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/async/request_message.h"

namespace drydock::fabric::async {

// Of a client or a server. The payload's length has to be the same at both ends.
struct RequestOptions {
  std::uint64_t session = 0;         // a client's; its server knows it by this
  std::size_t window = 16;           // calls, or requests being handled, at most
  std::size_t payload_bytes = 4096;  // of the longest request or response; at least 64
  // A server's: how long a response may take to get away before it is dropped.
  coro::Duration response_timeout = std::chrono::seconds(1);

  // A server's: responses under way to one client, at most. A response to a client that posts no
  // receives keeps its buffer, also when it was dropped: one such client leaves buffers for others
  // where the window is 2 or more, and up to 3 do where it is 4 or more.
  std::size_t responses_per_client() const { return std::max<std::size_t>(1, window / 4); }
  std::size_t message_bytes() const { return sizeof(RequestHeader) + payload_bytes; }
  // Bytes of a registered buffer that a client or a server needs: half to send, half to receive.
  std::size_t memory_bytes() const { return 2 * window * message_bytes(); }
  BufferSlice SendingHalf(const BufferRef& memory) const {
    return BufferSlice(memory, memory_bytes() / 2, memory_bytes() / 2);
  }
};

// Messages that were dropped.
struct RequestCounters {
  std::uint64_t corrupt = 0;     // no message of this version
  std::uint64_t stray = 0;       // of a session that is not ours, or of a kind that we do not take
  std::uint64_t late = 0;        // responses to calls that had ended: late ones, and second ones
  std::uint64_t unasked = 0;     // responses to calls that this client never made
  std::uint64_t unanswered = 0;  // a server's responses that did not get away
};

// Not thread-safe, not movable. Dies before its endpoint, and after every Call.
class RequestClient {
 public:
  // REQUIRES: a running loop; `memory` has memory_bytes() or more, for this alone.
  RequestClient(AsyncEndpoint& endpoint, Peer server, const BufferRef& memory,
                const RequestOptions& options);
  RequestClient(const RequestClient&) = delete;
  RequestClient& operator=(const RequestClient&) = delete;

  // Sends the request and waits for its response. Errors: those of the handler, whose words begin
  // with "peer: "; those of the send; kDeadlineExceeded, where the request may be handled all the
  // same; kInvalidArgument: the response is not a Response; after receiving has failed, that.
  // REQUIRES: the two fit payload_bytes.
  template <Payload Response, Payload Request>
  coro::Task<absl::StatusOr<Response>> Call(Request request, coro::Time deadline = coro::kNever) {
    const Expected expected{Response::kMessageType, sizeof(Response)};
    const absl::StatusOr<std::vector<std::byte>> response =
        co_await Exchange(Request::kMessageType, ToPayload(request), expected, deadline);
    if (!response.ok()) co_return response.status();
    co_return FromPayload<Response>(*response);
  }

  const RequestCounters& counters() const { return counters_; }

 private:
  class PendingCall;
  struct Expected {
    std::uint32_t type;
    std::size_t bytes;
  };

  // `request` stays with the caller until the end.
  coro::NowTask<absl::StatusOr<std::vector<std::byte>>> Exchange(std::uint32_t type,
                                                                 std::span<const std::byte> request,
                                                                 Expected expected,
                                                                 coro::Time deadline);
  // Ends the call where sending fails; success says nothing.
  coro::Task<absl::Status> Send(std::uint64_t number, BufferSlice message, coro::Time deadline);
  coro::Task<absl::Status> Listen();
  void Accept(std::span<const std::byte> bytes);
  void Fail(const absl::Status& why);

  AsyncEndpoint& endpoint_;
  const Peer server_;
  const RequestOptions options_;
  OperationWindow window_;
  BufferPool buffers_;
  MessageReceiver receiver_;
  std::map<std::uint64_t, PendingCall*> pending_;
  const std::uint64_t numbers_from_;  // the first call has the number after it
  std::uint64_t calls_ = 0;           // that were numbered
  absl::Status failure_;
  RequestCounters counters_;
  coro::Scope tasks_;  // last: they use the rest
};

// Not thread-safe, not movable. Dies before its endpoint, and after Serve.
class RequestServer {
 public:
  // REQUIRES: a running loop; `memory` has memory_bytes() or more, for this alone.
  RequestServer(AsyncEndpoint& endpoint, const BufferRef& memory, const RequestOptions& options);
  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;

  // Answers requests of this session, to this peer. Those of other sessions are dropped.
  void AddClient(std::uint64_t session, Peer client) {
    clients_.insert_or_assign(session, Client(client, options_));
  }
  void RemoveClient(std::uint64_t session) { clients_.erase(session); }

  // `function` answers a request; an error goes to the client, with as much of its words as fits.
  // It lives, with everything that a lambda has captured, as long as the server.
  template <Payload Request, Payload Response>
  void Handle(std::function<coro::Task<absl::StatusOr<Response>>(Request)> function) {
    AddHandler(Request::kMessageType, {sizeof(Request), sizeof(Response), Response::kMessageType,
                                       [function](std::span<const std::byte> payload) {
                                         return Run(function, FromPayload<Request>(payload));
                                       }});
  }

  // Handles requests, `window` at a time, until receiving fails, and returns why. Destroying its
  // coroutine stops taking requests; those that are being handled go on.
  coro::Task<absl::Status> Serve();

  const RequestCounters& counters() const { return counters_; }

 private:
  using Result = absl::StatusOr<std::vector<std::byte>>;

  // Responses of one client that wait for their turn, in windows; further ones hold up requests.
  static constexpr std::size_t kMostWaiting = 16;

  struct Client {
    Client(Peer client, const RequestOptions& options)
        : peer(client),
          waiting(kMostWaiting * options.window),
          responses(options.responses_per_client()) {}
    // A response to it has not got away in time, and still has not: others would not, either.
    // `own`: the caller's responses among those that are under way.
    bool TakesNone(std::size_t own) {
      if (responses.under_way() <= own) late = false;
      return late;
    }

    Peer peer;
    OperationWindow waiting;    // responses that wait for their turn
    OperationWindow responses;  // that are under way
    bool late = false;          // a response has not got away in time
  };

  struct Handler {
    std::size_t request_bytes = 0;
    std::size_t response_bytes = 0;
    std::uint32_t response_type = 0;
    std::function<coro::Task<Result>(std::span<const std::byte>)> run;
  };

  // The payload of what `function` returns.
  template <Payload Request, Payload Response>
  static coro::Task<Result> Run(
      const std::function<coro::Task<absl::StatusOr<Response>>(Request)>& function,
      Request request) {
    absl::StatusOr<Response> response = co_await function(request);
    if (!response.ok()) co_return response.status();
    const std::span<const std::byte> payload = ToPayload(*response);
    co_return std::vector<std::byte>(payload.begin(), payload.end());
  }

  void AddHandler(std::uint32_t type, Handler handler);
  // Absent: the message is no request of a client.
  std::optional<RequestMessage> Accept(const Message& message);
  coro::Task<absl::Status> Answer(OperationWindow::Permit permit, Message message,
                                  RequestMessage request);
  // Runs the handler that the request asks for.
  coro::NowTask<Result> Respond(Message message, RequestMessage request);
  coro::NowTask<absl::Status> Reply(OperationWindow::Permit handling, RequestHeader header,
                                    const Result& response);
  // The right to send a response to this client. Gives `handling` back when only the client is
  // waited for.
  static coro::NowTask<absl::StatusOr<OperationWindow::Permit>> TakeTurn(
      Client& client, OperationWindow::Permit handling, coro::Time deadline);
  // Null: there is no such client, or it takes no response. `own`: Client::TakesNone.
  Client* ClientToAnswer(std::uint64_t session, std::size_t own = 0);

  AsyncEndpoint& endpoint_;
  const RequestOptions options_;
  OperationWindow window_;
  BufferPool buffers_;
  MessageReceiver receiver_;
  std::map<std::uint64_t, Client> clients_;
  std::map<std::uint32_t, Handler> handlers_;
  RequestCounters counters_;
  coro::Scope answers_;  // last: its tasks use the rest
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_REQUEST_CHANNEL_H_
