#include "drydock/apps/write/client.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/nic_choice.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_any.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/coverage/points.h"

namespace drydock::apps::write {
namespace {

using fabric::async::ImmediateCounter;

// How often to report progress where there is none.
constexpr coro::Duration kReportInterval = std::chrono::milliseconds(100);

}  // namespace

absl::StatusOr<RandomFillMessage> MakeRequest(const ClientOptions& options) {
  RandomFillMessage request;
  request.session = options.session;
  request.remote_context = options.remote_context;
  request.completion = options.completion;
  request.data_seed = options.data_seed;
  request.page_bytes = options.page_bytes;
  RETURN_IF_ERROR(CheckPageSize(options.page_bytes, options.region_bytes));
  if (options.page_bytes % options.memory->word_bytes() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("pages of ", FormatBytes(options.page_bytes),
                                                   ": this memory takes data in words of ",
                                                   FormatBytes(options.memory->word_bytes())));
  }
  const std::uint64_t pages = options.region_bytes / options.page_bytes;
  if (options.page_count > pages) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the region of ", FormatBytes(options.region_bytes), " has ", FormatCount(pages, "page"),
        " of ", FormatBytes(options.page_bytes), ", not ", options.page_count));
  }
  request.page_indices = ScatteredPages(options.page_count, pages, options.data_seed);
  RETURN_IF_ERROR(CheckRequest(request, options.region_bytes));
  return request;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Open(fabric::async::Node& node,
                                                     const ClientOptions& options,
                                                     const fabric::Address& server) {
  ASSIGN_OR_RETURN(RandomFillMessage request, MakeRequest(options));
  RETURN_IF_ERROR(RequireCapabilities(node.nic(), kNeededCapabilities));
  ASSIGN_OR_RETURN(const fabric::Peer peer, node.Connect(server));
  std::unique_ptr<Client> client(new Client(node, options, std::move(request), peer));
  for (fabric::async::BufferRef& region : client->regions_) {
    ASSIGN_OR_RETURN(region, options.memory->Allocate(node, options.region_bytes));
  }
  ASSIGN_OR_RETURN(client->message_, node.Allocate(kMessageBytes));
  ASSIGN_OR_RETURN(client->answer_, node.Allocate(kMessageBytes));
  return client;
}

Client::~Client() { node_.Disconnect(server_); }

coro::Task<absl::StatusOr<TransferReport>> Client::Run() {
  LogMemory();
  requested_ = node_.loop().clock().Now();
  // Counting begins before the server is asked: an announcement that is not counted is lost.
  ImmediateCounter announced(node_.dispatcher(), request_.remote_context);
  std::vector<coro::Task<absl::Status>> tasks;
  tasks.push_back(ListenForRefusal());
  tasks.push_back(KeepReporting());
  tasks.push_back(Exchange(announced));
  CO_RETURN_IF_ERROR((co_await coro::WhenAny(std::move(tasks))).second);
  TransferReport report;
  report.bytes = kRegionCount * request_.page_bytes * request_.page_indices.size();
  report.elapsed = heard_ - requested_;
  CO_ASSIGN_OR_RETURN(report.verification, options_.memory->Check(request_, regions_));
  co_return report;
}

coro::Task<absl::Status> Client::Exchange(ImmediateCounter& announced) {
  ConnectMessage connect{.session = options_.session, .address = node_.address(), .regions = {}};
  for (std::size_t i = 0; i < kRegionCount; ++i) {
    connect.regions[i] = {regions_[i]->region().remote(), options_.region_bytes};
  }
  CO_RETURN_IF_ERROR(co_await SendMessage(connect, "send CONNECT"));
  requested_ = node_.loop().clock().Now();
  CO_RETURN_IF_ERROR(co_await SendMessage(request_, "send REQUEST"));
  heard_ = node_.loop().clock().Now();
  while (seen_ < expected_) {
    const coro::Time deadline = coro::After(heard_, options_.silence_timeout);
    if (!co_await announced.Reached(seen_ + 1, deadline)) {
      fabric::coverage::Reachable("write: the client gave up a silent server");
      co_return absl::DeadlineExceededError(absl::StrCat("the server is silent: ", seen_, " of ",
                                                         expected_, " writes arrived, none for ",
                                                         FormatDuration(options_.silence_timeout)));
    }
    seen_ = announced.count();
    heard_ = node_.loop().clock().Now();
    Report();
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Client::SendMessage(const Message& message, std::string what) {
  const std::vector<std::byte> bytes = Encode(message);
  std::copy(bytes.begin(), bytes.end(), message_->bytes().begin());
  fabric::async::OperationOptions options;
  options.deadline = coro::After(node_.loop().Now(), options_.silence_timeout);
  const fabric::async::BufferSlice slice(message_, 0, bytes.size());
  const fabric::Completion sent = co_await node_.endpoint().Send(slice, server_, options);
  if (sent.error == fabric::ErrorCode::kDeadlineExceeded) {
    co_return absl::DeadlineExceededError(absl::StrCat(what, ": the server did not take it within ",
                                                       FormatDuration(options_.silence_timeout)));
  }
  co_return node_.endpoint().ToStatus(sent, what);
}

coro::Task<absl::Status> Client::ListenForRefusal() {
  fabric::async::MessageReceiver receiver(node_.endpoint(), answer_, 1, kMessageBytes, 1);
  for (;;) {
    CO_ASSIGN_OR_RETURN(const fabric::async::Message message, co_await receiver.Next());
    const absl::StatusOr<Message> decoded = Decode(message.bytes);
    if (!decoded.ok()) continue;  // it is not the answer, whatever its sender
    const auto* refused = std::get_if<RefusedMessage>(&*decoded);
    if (refused == nullptr || refused->session != options_.session) continue;
    fabric::coverage::Reachable("write: the client was refused");
    co_return absl::FailedPreconditionError(absl::StrCat(
        "the server refused: ", refused->reason.empty() ? "no reason given" : refused->reason));
  }
}

coro::Task<absl::Status> Client::KeepReporting() {
  for (;;) {
    co_await coro::Sleep(kReportInterval);
    Report();
  }
}

void Client::LogMemory() const {
  for (std::size_t i = 0; i < kRegionCount; ++i) {
    const auto bytes = regions_[i]->bytes();
    const fabric::RemoteBuffer remote = regions_[i]->region().remote();
    options_.log(Severity::kDetail, "memory",
                 absl::StrFormat("client's region %u: %u bytes at %p, remote address %#x, key %#x",
                                 i, bytes.size(), bytes.data(), remote.address, remote.key));
  }
}

void Client::Report() { options_.progress({seen_, node_.loop().clock().Now() - requested_}); }

}  // namespace drydock::apps::write
