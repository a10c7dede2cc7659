#include "drydock/apps/write/server.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/nic_choice.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/coverage/points.h"

namespace drydock::apps::write {
namespace {

using fabric::async::BufferSlice;

constexpr std::size_t kMessageBuffers = 2;  // one for CONNECT, one for REQUEST
constexpr std::size_t kBacklog = 64;
constexpr std::size_t kMostSessions = 1024;

absl::Status Problem(absl::string_view what, absl::string_view why = "") {
  return absl::InvalidArgumentError(absl::StrCat(what, why));
}

std::string Name(std::uint64_t session) { return absl::StrFormat("session %x", session); }

// Whether the k-th page of a region announces itself to the client.
bool Announces(const RandomFillMessage& request, std::size_t region, std::size_t k) {
  const bool last = region + 1 == kRegionCount && k + 1 == request.page_indices.size();
  return last || request.completion == CompletionMode::kCount;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Open(fabric::async::Node& node,
                                                     const ServerOptions& options) {
  RETURN_IF_ERROR(RequireCapabilities(node.nic(), kNeededCapabilities));
  std::unique_ptr<Server> server(new Server(node, options));
  RETURN_IF_ERROR(server->writers_.Prepare());
  ASSIGN_OR_RETURN(server->messages_, node.Allocate(kMessageBuffers * kMessageBytes));
  return server;
}

coro::Task<absl::Status> Server::Run() {
  fabric::async::MessageReceiver receiver(node_.endpoint(), messages_, kMessageBuffers,
                                          kMessageBytes, kBacklog);
  coro::Scope work;
  std::optional<coro::Scope> listener(std::in_place);
  listener->Spawn(Listen(receiver, work));
  heard_ = node_.loop().Now();
  while (failure_.ok() && (options_.clients == 0 || served_ < options_.clients)) {
    const bool changed = co_await changed_.Wait(AloneAt());
    if (changed || node_.loop().Now() < AloneAt()) continue;
    co_return absl::DeadlineExceededError(absl::StrCat("serve: ", served_, " of ", options_.clients,
                                                       " clients were served, and no other came"));
  }
  listener.reset();
  CO_RETURN_IF_ERROR(failure_);
  co_return co_await work.Join();
}

coro::Time Server::AloneAt() const {
  if (!options_.patience.has_value() || serving_ > 0) return coro::kNever;
  return coro::After(heard_, *options_.patience);
}

coro::Task<absl::Status> Server::Listen(fabric::async::MessageReceiver& receiver,
                                        coro::Scope& work) {
  for (;;) {
    const absl::StatusOr<fabric::async::Message> message = co_await receiver.Next();
    if (!message.ok()) {
      failure_ = message.status();
      changed_.NotifyAll();
      co_return absl::OkStatus();
    }
    heard_ = node_.loop().Now();
    LogProblem(Handle(message->bytes, work));
  }
}

void Server::LogProblem(const absl::Status& status, absl::string_view who) const {
  if (!status.ok()) options_.log(Severity::kProblem, "", absl::StrCat(who, status.message()));
}

absl::Status Server::Handle(std::span<const std::byte> bytes, coro::Scope& work) {
  const absl::StatusOr<Message> message = Decode(bytes);
  if (!message.ok()) return Problem("ignored a ", message.status().message());
  if (const auto* connect = std::get_if<ConnectMessage>(&*message)) {
    return HandleConnect(*connect, work);
  }
  if (const auto* request = std::get_if<RandomFillMessage>(&*message)) {
    return HandleRequest(*request, work);
  }
  return Problem("ignored a REFUSED: a server is not refused");
}

absl::Status Server::HandleConnect(const ConnectMessage& message, coro::Scope& work) {
  ForgetOldSessions();
  const std::string who = absl::StrCat("refused CONNECT of ", Name(message.session), ": ");
  if (sessions_.count(message.session) > 0) return Problem(who, "it is connected");
  if (sessions_.size() >= kMostSessions) return Problem(who, "too many sessions");
  const absl::StatusOr<fabric::Peer> peer = node_.Connect(message.address);
  if (!peer.ok()) return Problem(who, peer.status().message());
  const Session session{message.session, *peer, message.regions, node_.loop().Now()};
  for (const RemoteRegion& region : message.regions) {
    if (region.length_bytes > 0 && region.length_bytes <= options_.region_bytes) continue;
    const std::string reason = absl::StrCat("region of ", region.length_bytes,
                                            " bytes, this server has ", options_.region_bytes);
    work.Spawn(Refuse(session, reason));
    return Problem(who, reason);
  }
  sessions_[message.session] = session;
  options_.log(Severity::kEvent, "CONNECT",
               absl::StrFormat("%s: %u regions of %s", Name(message.session), kRegionCount,
                               FormatBytes(message.regions[0].length_bytes)));
  return absl::OkStatus();
}

absl::Status Server::HandleRequest(const RandomFillMessage& request, coro::Scope& work) {
  const std::string who = absl::StrCat("refused REQUEST of ", Name(request.session), ": ");
  const auto found = sessions_.find(request.session);
  if (found == sessions_.end()) return Problem(who, "it did not connect");
  const Session session = found->second;
  sessions_.erase(found);
  const std::uint64_t region_bytes =
      std::min(session.regions[0].length_bytes, session.regions[1].length_bytes);
  const absl::Status status = CheckRequest(request, region_bytes);
  if (!status.ok()) {
    work.Spawn(Refuse(session, std::string(status.message())));
    return Problem(who, status.message());
  }
  options_.log(Severity::kEvent, "REQUEST",
               absl::StrCat(Name(request.session), ": ", Describe(request)));
  work.Spawn(Serve(session, request));
  return absl::OkStatus();
}

coro::Task<absl::Status> Server::Serve(Session session, RandomFillMessage request) {
  const coro::Time deadline = coro::After(node_.loop().Now(), options_.write_timeout);
  absl::StatusOr<WriterPool::Lease> writer = co_await writers_.Borrow(deadline);
  if (!writer.ok()) {
    LogProblem(writer.status(), absl::StrCat("refused REQUEST of ", Name(session.id), ": "));
    co_return co_await Refuse(session, std::string(writer.status().message()));
  }
  ++serving_;
  const absl::Status status = co_await Transfer(session, request, *writer);
  --serving_;
  heard_ = node_.loop().Now();
  node_.Disconnect(session.peer);
  LogProblem(status, absl::StrCat("transfer of ", Name(session.id), " failed: "));
  if (status.ok() || options_.count_failed) ++served_;
  changed_.NotifyAll();
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Server::Transfer(const Session& session, const RandomFillMessage& request,
                                          const WriterPool::Lease& writer) {
  const std::size_t pages = request.page_indices.size();
  const std::uint64_t region_total = request.page_bytes * pages;
  for (std::size_t region = 0; region < kRegionCount; ++region) {
    const std::span<std::byte> bytes = writer.region(region)->bytes().first(region_total);
    options_.log(Severity::kDetail, "memory",
                 absl::StrFormat("%s: random data of region %u: %u bytes at %p", Name(session.id),
                                 region, bytes.size(), bytes.data()));
    CO_RETURN_IF_ERROR(
        options_.memory->Fill(writer.region(region), region_total, request.data_seed + region));
  }
  const coro::Time start = node_.loop().clock().Now();
  std::vector<coro::Task<absl::Status>> writes;
  for (std::size_t region = 0; region < kRegionCount; ++region) {
    for (std::size_t k = 0; k < pages; ++k) {
      writes.push_back(WritePage(session, request, writer, region, k));
    }
  }
  for (const absl::Status& status : co_await coro::WhenAll(std::move(writes))) {
    CO_RETURN_IF_ERROR(status);
  }
  const coro::Duration elapsed = node_.loop().clock().Now() - start;
  options_.log(Severity::kEvent, "wrote",
               absl::StrFormat("%s: %u pages, %s in %s, %s", Name(session.id), kRegionCount * pages,
                               FormatBytes(kRegionCount * region_total), FormatDuration(elapsed),
                               FormatRate(kRegionCount * region_total, elapsed)));
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Server::WritePage(const Session& session, const RandomFillMessage& request,
                                           const WriterPool::Lease& writer, std::size_t region,
                                           std::size_t k) {
  const std::uint64_t page = request.page_indices[k];
  const std::uint64_t offset = page * request.page_bytes;
  fabric::RemoteBuffer target = session.regions[region].remote;
  target.address += offset;
  fabric::async::OperationOptions options;
  options.deadline = coro::After(node_.loop().Now(), options_.write_timeout);
  const bool announced = Announces(request, region, k);
  if (announced) options.immediate = request.remote_context;
  options_.log(
      Severity::kDetail, "write",
      absl::StrFormat("%s: page %u of region %u, bytes %u to %u of %u, immediate %s",
                      Name(session.id), page, region, offset, offset + request.page_bytes,
                      session.regions[region].length_bytes,
                      announced ? absl::StrFormat("%#x", request.remote_context) : "none"));
  const BufferSlice source(writer.region(region), k * request.page_bytes, request.page_bytes);
  const fabric::Completion done =
      co_await writer.endpoint().Write(source, target, session.peer, options);
  fabric::coverage::Sometimes("write: a page could not be written", !done.ok());
  co_return node_.endpoint().ToStatus(done,
                                      absl::StrCat("write of page ", page, " of region ", region));
}

coro::Task<absl::Status> Server::Refuse(Session session, std::string reason) {
  const std::vector<std::byte> bytes = Encode(RefusedMessage{session.id, std::move(reason)});
  const absl::StatusOr<fabric::async::BufferRef> buffer = node_.Allocate(bytes.size());
  absl::Status sent = buffer.status();
  if (buffer.ok()) {
    std::copy(bytes.begin(), bytes.end(), (*buffer)->bytes().begin());
    fabric::async::OperationOptions options;
    options.deadline = coro::After(node_.loop().Now(), options_.write_timeout);
    const fabric::Completion done =
        co_await node_.endpoint().Send(BufferSlice(*buffer), session.peer, options);
    sent = node_.endpoint().ToStatus(done, absl::StrCat("send REFUSED to ", Name(session.id)));
  }
  LogProblem(sent);
  node_.Disconnect(session.peer);
  co_return absl::OkStatus();
}

void Server::ForgetOldSessions() {
  const coro::Time now = node_.loop().Now();
  std::erase_if(sessions_, [&](const auto& entry) {
    const bool old = now - entry.second.connected > options_.session_timeout;
    if (old) node_.Disconnect(entry.second.peer);
    return old;
  });
}

}  // namespace drydock::apps::write
