#include "apps/write/server.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/common/units.h"
#include "apps/write/random_data.h"
#include "coro/status_macros.h"
#include "coro/when_all.h"
#include "fabric/async/message_receiver.h"

namespace apps::write {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;

// Two message buffers, as the seed program has: one for CONNECT, one for REQUEST, or for whatever
// comes.
constexpr std::size_t kMessageBuffers = 2;
constexpr std::size_t kBacklog = 64;
constexpr std::size_t kMostSessions = 1024;

const char* NameOf(CompletionMode mode) {
  return mode == CompletionMode::kCount ? "count" : "last";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Open(Network& network,
                                                     const ServerOptions& options) {
  std::unique_ptr<Server> server(new Server(network, options));
  for (BufferRef& data : server->data_) {
    ASSIGN_OR_RETURN(data, network.Allocate(options.region_bytes));
  }
  ASSIGN_OR_RETURN(server->messages_, network.Allocate(kMessageBuffers * kMessageBytes));
  return server;
}

coro::Task<absl::Status> Server::Run() {
  fabric::async::MessageReceiver receiver(network_.endpoint(), messages_, kMessageBuffers,
                                          kMessageBytes, kBacklog);
  while (options_.clients == 0 || served_ < options_.clients) {
    CO_ASSIGN_OR_RETURN(const fabric::async::Message message, co_await receiver.Next());
    const absl::Status handled = co_await Handle(message.bytes);
    if (!handled.ok()) options_.log(absl::StrCat("refused   ", handled.message()), true);
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Server::Handle(std::span<const std::byte> bytes) {
  CO_ASSIGN_OR_RETURN(const Message message, Decode(bytes));
  if (const auto* connect = std::get_if<ConnectMessage>(&message))
    co_return HandleConnect(*connect);
  if (const auto* request = std::get_if<RandomFillMessage>(&message)) {
    co_return co_await HandleRequest(*request);
  }
  co_return absl::InvalidArgumentError("a server is not refused");
}

absl::Status Server::HandleConnect(const ConnectMessage& message) {
  ForgetOldSessions();
  if (sessions_.count(message.session) > 0) {
    return absl::InvalidArgumentError("CONNECT of a session that exists");
  }
  if (sessions_.size() >= kMostSessions) {
    return absl::ResourceExhaustedError("CONNECT: too many sessions");
  }
  for (const RemoteRegion& region : message.regions) {
    if (region.length_bytes == 0 || region.length_bytes > options_.region_bytes) {
      return absl::InvalidArgumentError(absl::StrCat("CONNECT: region of ", region.length_bytes,
                                                     " bytes, this server has ",
                                                     options_.region_bytes));
    }
  }
  absl::StatusOr<fabric::Peer> peer = network_.peers().Insert(message.address);
  if (!peer.ok()) {
    return absl::Status(peer.status().code(), absl::StrCat("CONNECT: ", peer.status().message()));
  }
  sessions_[message.session] = {*peer, message.regions, network_.loop().Now()};
  options_.log(absl::StrFormat("CONNECT   session %016x: %u regions of %s", message.session,
                               kRegionCount, FormatBytes(message.regions[0].length_bytes)),
               false);
  return absl::OkStatus();
}

coro::Task<absl::Status> Server::HandleRequest(const RandomFillMessage& request) {
  const auto found = sessions_.find(request.session);
  if (found == sessions_.end()) {
    co_return absl::InvalidArgumentError("REQUEST of a session that did not connect");
  }
  const Session session = found->second;
  const std::uint64_t region_bytes =
      std::min(session.regions[0].length_bytes, session.regions[1].length_bytes);
  absl::Status status = CheckRequest(request, region_bytes);
  if (status.ok()) {
    status = co_await Transfer(session, request);
  } else {
    const absl::Status sent =
        co_await Refuse(session, request.session, std::string(status.message()));
    if (!sent.ok()) options_.log(sent.message(), true);
  }
  Forget(request.session);
  CO_RETURN_IF_ERROR(ReplaceAbandonedBuffers());
  if (status.ok()) ++served_;
  co_return status;
}

coro::Task<absl::Status> Server::Transfer(const Session& session,
                                          const RandomFillMessage& request) {
  const std::size_t pages = request.page_indices.size();
  const std::uint64_t region_total = request.page_bytes * pages;
  options_.log(absl::StrFormat("REQUEST   seed %#x, %u pages of %s per region, remote context %#x, "
                               "completion %s",
                               request.data_seed, pages, FormatBytes(request.page_bytes),
                               request.remote_context, NameOf(request.completion)),
               false);
  for (std::size_t region = 0; region < kRegionCount; ++region) {
    FillRandom(data_[region]->bytes().first(region_total), request.data_seed + region);
  }
  const coro::Time start = network_.loop().clock().Now();
  std::vector<coro::Task<absl::Status>> writes;
  for (std::size_t region = 0; region < kRegionCount; ++region) {
    for (std::size_t k = 0; k < pages; ++k) {
      const bool last = region + 1 == kRegionCount && k + 1 == pages;
      const bool announce = last || request.completion == CompletionMode::kCount;
      writes.push_back(WritePage(session, request, region, k, announce));
    }
  }
  for (const absl::Status& status : co_await coro::WhenAll(std::move(writes))) {
    CO_RETURN_IF_ERROR(status);
  }
  const coro::Duration elapsed = network_.loop().clock().Now() - start;
  options_.log(absl::StrFormat("wrote     %u pages, %s in %s, %s", kRegionCount * pages,
                               FormatBytes(kRegionCount * region_total), FormatDuration(elapsed),
                               FormatRate(kRegionCount * region_total, elapsed)),
               false);
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Server::WritePage(const Session& session, const RandomFillMessage& request,
                                           std::size_t region, std::size_t k, bool announce) {
  const std::uint64_t page = request.page_indices[k];
  fabric::RemoteBuffer target = session.regions[region].remote;
  target.address += page * request.page_bytes;
  fabric::async::OperationOptions options;
  options.deadline = coro::After(network_.loop().Now(), options_.write_timeout);
  if (announce) options.immediate = request.remote_context;
  const BufferSlice source(data_[region], k * request.page_bytes, request.page_bytes);
  const fabric::Completion done =
      co_await network_.endpoint().Write(source, target, session.peer, options);
  if (done.ok()) co_return absl::OkStatus();
  co_return network_.endpoint().ToStatus(
      done, absl::StrCat("write of page ", page, " of region ", region));
}

coro::Task<absl::Status> Server::Refuse(const Session& session, std::uint64_t id,
                                        std::string reason) {
  const std::vector<std::byte> bytes = Encode(RefusedMessage{id, std::move(reason)});
  CO_ASSIGN_OR_RETURN(const BufferRef buffer, network_.Allocate(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), buffer->bytes().begin());
  fabric::async::OperationOptions options;
  options.deadline = coro::After(network_.loop().Now(), options_.write_timeout);
  const fabric::Completion sent =
      co_await network_.endpoint().Send(BufferSlice(buffer), session.peer, options);
  co_return network_.endpoint().ToStatus(sent, "send REFUSED");
}

// A write that was given up may still read its source: the next request gets other memory.
absl::Status Server::ReplaceAbandonedBuffers() {
  for (BufferRef& data : data_) {
    if (data.use_count() == 1) continue;
    ASSIGN_OR_RETURN(data, network_.Allocate(options_.region_bytes));
  }
  return absl::OkStatus();
}

void Server::Forget(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  network_.peers().Remove(found->second.peer).IgnoreError();
  sessions_.erase(found);
}

void Server::ForgetOldSessions() {
  const coro::Time now = network_.loop().Now();
  std::vector<std::uint64_t> old;
  for (const auto& [id, session] : sessions_) {
    if (now - session.connected > options_.session_timeout) old.push_back(id);
  }
  for (const std::uint64_t id : old) Forget(id);
}

}  // namespace apps::write
