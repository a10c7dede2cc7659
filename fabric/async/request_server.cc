#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/request_channel.h"

namespace drydock::fabric::async {

RequestServer::RequestServer(AsyncEndpoint& endpoint, const BufferRef& memory,
                             const RequestOptions& options)
    : endpoint_(endpoint),
      options_(options),
      window_(options.window),
      buffers_(options.SendingHalf(memory), options.message_bytes()),
      receiver_(endpoint, memory, options.window, options.message_bytes(),
                /*backlog=*/options.window) {}

void RequestServer::AddHandler(std::uint32_t type, Handler handler) {
  DD_CHECK(std::max(handler.request_bytes, handler.response_bytes) <= options_.payload_bytes,
           "a payload longer than its channel takes");
  DD_CHECK(handlers_.emplace(type, std::move(handler)).second, "two handlers for one type");
}

coro::Task<absl::Status> RequestServer::Serve() {
  for (;;) {
    CO_ASSIGN_OR_RETURN(OperationWindow::Permit permit, co_await window_.Enter());
    CO_ASSIGN_OR_RETURN(Message message, co_await receiver_.Next());
    const std::optional<RequestMessage> request = Accept(message);
    if (!request.has_value()) continue;
    // Moving the message leaves its bytes where they are.
    answers_.Spawn(Answer(std::move(permit), std::move(message), *request));
  }
}

std::optional<RequestMessage> RequestServer::Accept(const Message& message) {
  const absl::StatusOr<RequestMessage> request = DecodeRequest(message.bytes);
  if (!request.ok()) {
    ++counters_.corrupt;
    return std::nullopt;
  }
  if (request->header.kind != RequestMessageKind::kRequest ||
      clients_.count(request->header.session) == 0) {
    ++counters_.stray;
    return std::nullopt;
  }
  return *request;
}

// The handler's end gives the message's buffer back.
coro::Task<absl::Status> RequestServer::Answer(OperationWindow::Permit permit, Message message,
                                               RequestMessage request) {
  const Result response = co_await Respond(std::move(message), request);
  co_return co_await Reply(std::move(permit), request.header, response);
}

coro::NowTask<RequestServer::Result> RequestServer::Respond(Message message,
                                                            RequestMessage request) {
  static_cast<void>(message);  // has the request's bytes
  const auto handler = handlers_.find(request.header.type);
  if (handler == handlers_.end()) {
    co_return absl::UnimplementedError(absl::StrCat("no handler for type ", request.header.type));
  }
  if (request.payload.size() != handler->second.request_bytes) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("request of type ", request.header.type, " has ", request.payload.size(),
                     " bytes, not ", handler->second.request_bytes));
  }
  co_return co_await handler->second.run(request.payload);
}

coro::NowTask<absl::Status> RequestServer::Reply(OperationWindow::Permit handling,
                                                 RequestHeader header, const Result& response) {
  OperationOptions options;
  options.deadline = coro::After(coro::EventLoop::Current().Now(), options_.response_timeout);
  const auto unanswered = [&] {
    ++counters_.unanswered;
    return absl::OkStatus();
  };
  Client* client = ClientToAnswer(header.session);
  if (client == nullptr) co_return unanswered();
  auto turn = co_await TakeTurn(*client, std::move(handling), options.deadline);
  if (!turn.ok()) co_return unanswered();
  absl::StatusOr<BufferRef> buffer = co_await buffers_.Take(options.deadline);
  client = ClientToAnswer(header.session, /*own=*/1);
  if (!buffer.ok() || client == nullptr) co_return unanswered();
  std::size_t length = 0;
  const std::span<std::byte> room = (*buffer)->bytes();
  if (response.ok()) {
    header.kind = RequestMessageKind::kResponse;
    header.type = handlers_.at(header.type).response_type;
    length = EncodeRequest(header, *response, room);
  } else {
    header.kind = RequestMessageKind::kError;
    std::vector<std::byte> error(options_.payload_bytes);
    error.resize(EncodeError(response.status(), error));
    length = EncodeRequest(header, error, room);
  }
  const BufferSlice message = (*std::move(turn)).Over(BufferSlice(*std::move(buffer), 0, length));
  const Completion sent = co_await endpoint_.Send(message, client->peer, options);
  const auto answered = clients_.find(header.session);
  if (answered != clients_.end()) {
    answered->second.late = sent.error == ErrorCode::kDeadlineExceeded;
  }
  co_return sent.ok() ? absl::OkStatus() : unanswered();
}

// A client that is slow to take its responses holds up no request, until very many of them wait.
coro::NowTask<absl::StatusOr<OperationWindow::Permit>> RequestServer::TakeTurn(
    Client& client, OperationWindow::Permit handling, coro::Time deadline) {
  OperationWindow responses = client.responses;  // the program may remove the client meanwhile
  const auto waits = co_await client.waiting.Enter(deadline);
  if (!waits.ok()) co_return waits.status();
  { const OperationWindow::Permit given_back = std::move(handling); }
  co_return co_await responses.Enter(deadline);
}

RequestServer::Client* RequestServer::ClientToAnswer(std::uint64_t session, std::size_t own) {
  const auto client = clients_.find(session);
  return client == clients_.end() || client->second.TakesNone(own) ? nullptr : &client->second;
}

}  // namespace drydock::fabric::async
