#include "drydock/apps/blocks/client.h"

#include <cstring>
#include <utility>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/coro/when_any.h"

namespace drydock::apps::blocks {
namespace {

using fabric::async::BufferRef;
using fabric::async::RequestOptions;

constexpr std::uint32_t kCreditImmediate = 0x200;
constexpr std::uint32_t kBarrierImmediate = 0x700;

}  // namespace

RequestOptions CallOptions(std::uint64_t session, std::size_t window) {
  RequestOptions options;
  options.session = session;
  options.window = window;
  options.payload_bytes = sizeof(BlockData);
  return options;
}

fabric::async::CreditTerms LogTerms() {
  return {.credits = 16, .batch = 4, .immediate = kCreditImmediate};
}

absl::StatusOr<std::unique_ptr<Client>> Client::Open(fabric::async::Node& node, std::size_t number,
                                                     const Settings& settings) {
  std::unique_ptr<Client> client(new Client(node, number, settings));
  const RequestOptions options = CallOptions(number, settings.window);
  for (std::size_t server = 0; server < kServers; ++server) {
    ASSIGN_OR_RETURN(client->callers_[server], node.OpenEndpoint());
    ASSIGN_OR_RETURN(client->call_memory_[server], node.Allocate(options.memory_bytes()));
  }
  ASSIGN_OR_RETURN(client->credit_, node.Allocate(fabric::async::CreditedReceiver::kCreditBytes));
  ASSIGN_OR_RETURN(fabric::async::BufferPool records,
                   fabric::async::BufferPool::Open(node.domain(), settings.window, sizeof(Record)));
  client->records_.emplace(std::move(records));
  ASSIGN_OR_RETURN(const BufferRef flag, node.Allocate(fabric::async::Barrier::kFlagBytes));
  client->barrier_.emplace(
      node.endpoint(), flag,
      fabric::async::BarrierOptions{
          .self = number, .members = settings.clients, .first_immediate = kBarrierImmediate});
  return client;
}

absl::Status Client::Connect(const std::array<fabric::Address, kServers>& servers,
                             const fabric::Address& collector,
                             const std::vector<Meeting>& clients) {
  const RequestOptions options = CallOptions(number_, settings_.window);
  for (std::size_t server = 0; server < kServers; ++server) {
    ASSIGN_OR_RETURN(const fabric::Peer peer, node_.Connect(servers[server]));
    calls_[server].emplace(*callers_[server], peer, call_memory_[server], options);
  }
  ASSIGN_OR_RETURN(const fabric::Peer peer, node_.Connect(collector));
  log_.emplace(node_.endpoint(), peer, LogTerms());
  std::vector<fabric::async::BarrierMember> members(clients.size());
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (i == number_) continue;
    ASSIGN_OR_RETURN(members[i].peer, node_.Connect(clients[i].address));
    members[i].flag = clients[i].flag;
  }
  barrier_->Connect(std::move(members));
  return absl::OkStatus();
}

coro::Task<absl::Status> Client::Work() {
  for (std::uint64_t version = 1; version <= settings_.rounds; ++version) {
    CO_RETURN_IF_ERROR(co_await ForBlocks(number_, settings_.clients, &Client::WriteBoth, version));
    CO_RETURN_IF_ERROR(co_await barrier_->Arrive());
    CO_RETURN_IF_ERROR(co_await ForBlocks(0, 1, &Client::ReadEither, version));
    CO_RETURN_IF_ERROR(co_await barrier_->Arrive());
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Client::ForBlocks(std::size_t first, std::size_t stride, Step step,
                                           std::uint64_t version) {
  coro::Channel<std::uint64_t> numbers(settings_.window);
  coro::Scope workers;
  for (std::size_t i = 0; i < settings_.window; ++i) {
    workers.Spawn(TakeSteps(numbers, step, version));
  }
  for (std::size_t block = first; block < settings_.blocks; block += stride) {
    const bool taken = co_await numbers.Send(block);
    if (!taken) break;  // a worker has failed
  }
  numbers.Close();
  co_return co_await workers.Join();
}

coro::Task<absl::Status> Client::TakeSteps(coro::Channel<std::uint64_t>& numbers, Step step,
                                           std::uint64_t version) {
  while (const std::optional<std::uint64_t> block = co_await numbers.Receive()) {
    const absl::Status status = co_await (this->*step)(*block, version);
    if (!status.ok()) numbers.Close();
    CO_RETURN_IF_ERROR(status);
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Client::WriteBoth(std::uint64_t block, std::uint64_t version) {
  const coro::Time since = node_.loop().Now();
  const BlockData data{.block = block, .version = version, .words = WordsOf(block, version)};
  std::vector<coro::Task<absl::StatusOr<Written>>> writes;
  for (auto& calls : calls_) writes.push_back(calls->Call<Written>(data));
  const std::vector<absl::StatusOr<Written>> written = co_await coro::WhenAll(std::move(writes));
  for (const absl::StatusOr<Written>& one : written) CO_RETURN_IF_ERROR(one.status());
  ++tally_.writes;
  co_return co_await Tell(block, version, since);
}

coro::Task<absl::Status> Client::ReadEither(std::uint64_t block, std::uint64_t version) {
  const coro::Time since = node_.loop().Now();
  const std::size_t first = (block + number_) % kServers;
  std::vector<coro::Task<absl::StatusOr<BlockData>>> reads;
  reads.push_back(calls_[first]->Call<BlockData>(ReadBlock{block}));
  reads.push_back(ReadLater(1 - first, block));
  const std::pair<std::size_t, absl::StatusOr<BlockData>> winner =
      co_await coro::WhenAny(std::move(reads));
  CO_RETURN_IF_ERROR(winner.second.status());
  ++tally_.reads;
  tally_.second_won += winner.first;
  const BlockData& data = *winner.second;
  if (data.version != version || data.words != WordsOf(block, version)) ++tally_.wrong;
  co_return co_await Tell(block, data.version, since);
}

coro::Task<absl::StatusOr<BlockData>> Client::ReadLater(std::size_t server, std::uint64_t block) {
  co_await coro::Sleep(settings_.hedge);
  ++tally_.hedged;
  co_return co_await calls_[server]->Call<BlockData>(ReadBlock{block});
}

coro::Task<absl::Status> Client::Tell(std::uint64_t block, std::uint64_t version,
                                      coro::Time since) {
  const Record record{number_, block, version, (node_.loop().Now() - since).count()};
  CO_ASSIGN_OR_RETURN(const BufferRef buffer, co_await records_->Take());
  std::memcpy(buffer->bytes().data(), &record, sizeof record);
  const fabric::Completion sent = co_await log_->Send(buffer);
  if (!sent.ok() && !log_->status().ok()) co_return log_->status();
  co_return node_.endpoint().ToStatus(sent, "tell the collector");
}

Tally Client::tally() const {
  Tally tally = tally_;
  for (const auto& calls : calls_) tally.late += calls->counters().late;
  return tally;
}

}  // namespace drydock::apps::blocks
