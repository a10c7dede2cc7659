#include "drydock/apps/blocks/run.h"

#include <array>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/blocks/client.h"
#include "drydock/apps/blocks/store.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/event.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/timeout.h"
#include "drydock/coro/when_any.h"
#include "drydock/fabric/async/credited_messages.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/request_channel.h"
#include "drydock/sim/cluster/cluster.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::blocks {
namespace {

using fabric::async::AsyncEndpoint;
using fabric::async::BufferRef;
using fabric::async::CreditedReceiver;
using fabric::async::Node;
using fabric::async::RequestServer;

// Machines by number: the servers, the collector, the clients.
constexpr std::size_t kCollector = kServers;
constexpr std::size_t kFirstClient = kCollector + 1;

// One server's machine.
struct Server {
  Server(Node& node, const BufferRef& memory, const Settings& settings)
      : store(settings.blocks, settings.service),
        calls(node.endpoint(), memory, CallOptions(/*session=*/0, kWindow)) {
    store.Answer(calls);
  }

  static constexpr std::size_t kWindow = 16;

  Store store;
  RequestServer calls;
};

// What the collector has for one client.
struct Log {
  std::unique_ptr<AsyncEndpoint> endpoint;
  std::unique_ptr<CreditedReceiver> records;  // dies before its endpoint
};

// Members die in reverse order, within the loop.
class Machines {
 public:
  Machines(sim::Cluster& cluster, const Settings& settings)
      : cluster_(cluster), settings_(settings) {}

  absl::Status Open();
  coro::Task<absl::Status> Work();
  Report report() const;

 private:
  Node& client_node(std::size_t number) { return cluster_.node(kFirstClient + number); }
  absl::Status OpenServers();
  absl::Status Introduce(std::size_t number, const std::vector<Meeting>& meetings);
  coro::Task<absl::Status> Serve(RequestServer& calls);
  coro::Task<absl::Status> Collect(std::size_t number);

  sim::Cluster& cluster_;
  const Settings settings_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Log> logs_;
  coro::Event done_;
  std::uint64_t records_ = 0;
};

absl::Status Machines::OpenServers() {
  const std::size_t bytes = CallOptions(/*session=*/0, Server::kWindow).memory_bytes();
  for (std::size_t i = 0; i < kServers; ++i) {
    ASSIGN_OR_RETURN(const BufferRef memory, cluster_.node(i).Allocate(bytes));
    servers_.push_back(std::make_unique<Server>(cluster_.node(i), memory, settings_));
  }
  return absl::OkStatus();
}

absl::Status Machines::Open() {
  RETURN_IF_ERROR(OpenServers());
  std::vector<Meeting> meetings;
  for (std::size_t i = 0; i < settings_.clients; ++i) {
    ASSIGN_OR_RETURN(auto client, Client::Open(client_node(i), i, settings_));
    meetings.push_back(client->meeting());
    clients_.push_back(std::move(client));
  }
  logs_.resize(settings_.clients);
  for (std::size_t i = 0; i < settings_.clients; ++i) RETURN_IF_ERROR(Introduce(i, meetings));
  return absl::OkStatus();
}

// A client to the servers and to the collector, and these to it.
absl::Status Machines::Introduce(std::size_t number, const std::vector<Meeting>& meetings) {
  Client& client = *clients_[number];
  std::array<fabric::Address, kServers> servers;
  for (std::size_t i = 0; i < kServers; ++i) {
    servers[i] = cluster_.node(i).address();
    ASSIGN_OR_RETURN(const fabric::Peer peer, cluster_.node(i).Connect(client.address_for(i)));
    servers_[i]->calls.AddClient(number, peer);
  }
  Node& collector = cluster_.node(kCollector);
  Log& log = logs_[number];
  ASSIGN_OR_RETURN(log.endpoint, collector.OpenEndpoint());
  RETURN_IF_ERROR(client.Connect(servers, log.endpoint->address(), meetings));
  ASSIGN_OR_RETURN(const BufferRef memory,
                   collector.Allocate(CreditedReceiver::MemoryBytes(LogTerms(), sizeof(Record))));
  ASSIGN_OR_RETURN(const fabric::Peer peer, collector.Connect(client.log_address()));
  log.records =
      std::make_unique<CreditedReceiver>(*log.endpoint, memory, sizeof(Record), LogTerms(),
                                         fabric::async::CreditTarget{peer, client.credit_bytes()});
  return absl::OkStatus();
}

coro::Task<absl::Status> Machines::Serve(RequestServer& calls) {
  const std::variant<absl::Status, bool> first =
      co_await coro::WhenAny(calls.Serve(), done_.Wait());
  co_return first.index() == 0 ? std::get<0>(first) : absl::OkStatus();
}

// Takes its time for each record: the clients' credits keep them from sending
// more.
coro::Task<absl::Status> Machines::Collect(std::size_t number) {
  const std::size_t own = (settings_.blocks + settings_.clients - 1 - number) / settings_.clients;
  const std::uint64_t expected = settings_.rounds * (own + settings_.blocks);
  for (std::uint64_t i = 0; i < expected; ++i) {
    CO_ASSIGN_OR_RETURN(const fabric::async::Message message,
                        co_await logs_[number].records->Next());
    if (message.bytes.size() != sizeof(Record)) {
      co_return absl::InternalError("a message to the collector is no record");
    }
    ++records_;
    co_await coro::Sleep(settings_.service);
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Machines::Work() {
  coro::Scope serving;
  for (auto& server : servers_) serving.Spawn(Serve(server->calls));
  coro::Scope working(coro::OnError::kCancel);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    working.Spawn(clients_[i]->Work());
    working.Spawn(Collect(i));
  }
  const absl::Status worked = co_await working.Join();
  done_.Set();
  const absl::Status served = co_await serving.Join();
  co_return worked.ok() ? served : worked;
}

Report Machines::report() const {
  Report report;
  for (const auto& client : clients_) {
    const Tally tally = client->tally();
    report.total.writes += tally.writes;
    report.total.reads += tally.reads;
    report.total.hedged += tally.hedged;
    report.total.second_won += tally.second_won;
    report.total.late += tally.late;
    report.total.wrong += tally.wrong;
  }
  report.records = records_;
  return report;
}

// Everything that needs a running loop lives here.
coro::Task<absl::Status> RunIn(sim::Cluster& cluster, const Settings& settings, Report& report) {
  const coro::Time start = cluster.loop().Now();
  Machines machines(cluster, settings);
  CO_RETURN_IF_ERROR(machines.Open());
  CO_RETURN_IF_ERROR(co_await machines.Work());
  report = machines.report();
  report.elapsed = cluster.loop().Now() - start;
  co_return absl::OkStatus();
}

absl::Status InRange(const char* what, std::uint64_t value, std::uint64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", what, "=", value, " is not between 1 and ", most));
}

}  // namespace

absl::StatusOr<Report> RunBlocks(const Settings& settings) {
  RETURN_IF_ERROR(InRange("clients", settings.clients, 31));
  RETURN_IF_ERROR(InRange("blocks", settings.blocks, 100'000));
  RETURN_IF_ERROR(InRange("rounds", settings.rounds, 1000));
  RETURN_IF_ERROR(InRange("window", settings.window, 32));
  ASSIGN_OR_RETURN(const sim::Profile* const profile, sim::FindProfile(settings.profile));
  if (!profile->device.rdma_write) {
    return absl::UnimplementedError(absl::StrCat("profile ", profile->name,
                                                 ": its NICs have no RDMA writes, which barrier "
                                                 "and credits are made of"));
  }
  sim::Cluster cluster(kFirstClient + settings.clients,
                       {.seed = settings.seed, .profile = profile->name});
  Report report;
  const coro::Time deadline = coro::After(cluster.loop().Now(), settings.timeout);
  const absl::Status ran =
      cluster.loop().Run(coro::WithDeadline(deadline, RunIn(cluster, settings, report)));
  if (absl::IsDeadlineExceeded(ran) && cluster.loop().Now() >= deadline) {
    return absl::DeadlineExceededError(absl::StrCat("the run is not over after ",
                                                    FormatDuration(settings.timeout),
                                                    " of simulated time, as long as one may take: "
                                                    "ask for fewer blocks, rounds or clients, or a "
                                                    "wider window"));
  }
  RETURN_IF_ERROR(ran);
  return report;
}

}  // namespace drydock::apps::blocks
