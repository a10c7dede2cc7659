#include "drydock/apps/echo/tcp_echo.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"

namespace drydock::apps::echo {
namespace {

// What a session reads at once.
constexpr std::size_t kBufferBytes = 64u << 10;

}  // namespace

coro::Task<absl::Status> TcpServer::Run() {
  for (std::uint64_t session = 1; options_.clients == 0 || session <= options_.clients; ++session) {
    while (sessions_.running() >= options_.sessions) co_await session_ended_.Wait();
    CO_ASSIGN_OR_RETURN(coro::Descriptor peer, co_await coro::Accept(listener_));
    sessions_.Spawn(Serve(std::move(peer), session));
  }
  co_return co_await sessions_.Join();
}

coro::Task<absl::Status> TcpServer::Serve(coro::Descriptor peer, std::uint64_t session) {
  std::uint64_t echoed_bytes = 0;
  const absl::Status status = co_await EchoAll(peer, echoed_bytes);
  log_("tcp", absl::StrCat("server: session ", session, " echoed ", FormatBytes(echoed_bytes),
                           status.ok() ? "" : absl::StrCat(", then: ", status.message())));
  session_ended_.NotifyOne();
  co_return absl::OkStatus();
}

coro::Task<absl::Status> TcpServer::EchoAll(const coro::Descriptor& peer,
                                            std::uint64_t& echoed_bytes) {
  std::vector<std::byte> buffer(kBufferBytes);
  for (;;) {
    CO_ASSIGN_OR_RETURN(const std::size_t got, co_await coro::Read(peer, buffer));
    if (got == 0) co_return absl::OkStatus();  // the peer has said all it had to say
    const coro::Time deadline = coro::After(coro::EventLoop::Current().Now(), options_.timeout);
    CO_RETURN_IF_ERROR(co_await coro::WriteAll(peer, std::span(buffer).first(got), deadline));
    echoed_bytes += got;
  }
}

coro::Task<absl::Status> RunTcpClient(coro::EpollSelector& io, coro::TcpAddress to,
                                      EchoOptions options, EchoReport& report) {
  coro::EventLoop& loop = coro::EventLoop::Current();
  CO_ASSIGN_OR_RETURN(const coro::Descriptor server,
                      co_await coro::Connect(io, to, coro::After(loop.Now(), options.timeout)));
  std::vector<std::byte> message(options.message_bytes);
  std::vector<std::byte> echo(options.message_bytes);
  for (std::uint64_t number = 0; number < options.count; ++number) {
    FillMessage(number, message);
    const coro::Time deadline = coro::After(loop.Now(), options.timeout);
    const coro::Time start = loop.clock().Now();
    // Both at once: a server that cannot get rid of the beginning does not read the end.
    const auto [written, read] = co_await coro::WhenAll(coro::WriteAll(server, message, deadline),
                                                        coro::ReadAll(server, echo, deadline));
    CO_RETURN_IF_ERROR(written);
    CO_RETURN_IF_ERROR(read);
    const coro::Duration round_trip = loop.clock().Now() - start;
    CO_RETURN_IF_ERROR(CheckMessage(number, echo, options.message_bytes));
    report.Add(round_trip);
  }
  co_return absl::OkStatus();
}

}  // namespace drydock::apps::echo
