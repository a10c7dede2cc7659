// A server and clients that misbehave: whatever they send, and however they disappear, the server
// serves the next one.

#include "drydock/apps/write/server.h"

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "drydock/apps/write/client.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::write {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::size_t kSmallRegion = 1 << 20;

// One machine with a node of its own.
struct Machine {
  Machine(sim::World& world, coro::EventLoop& loop, const char* name)
      : machine(world.AddNode(name)),
        node(fabric::async::Node::Open(loop, sim::OpenSimFabric(world, machine)).value()) {}

  sim::Node& machine;
  std::unique_ptr<fabric::async::Node> node;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() { OpenServer(SmallServer()); }

  void OpenServer(ServerOptions options) {
    options.log = [this](Severity severity, absl::string_view, absl::string_view text) {
      if (severity == Severity::kProblem) complaints_.emplace_back(text);
    };
    server_ = Server::Open(*server_machine_.node, options).value();
  }

  static ServerOptions SmallServer() {
    ServerOptions options;
    options.region_bytes = kSmallRegion;
    options.write_timeout = 5s;
    return options;
  }

  static ClientOptions GoodOptions(std::uint64_t session) {
    ClientOptions options;
    options.region_bytes = kSmallRegion;
    options.page_bytes = 64 << 10;
    options.session = session;
    return options;
  }

  fabric::Address ServerAddress() { return server_machine_.node->endpoint().address(); }

  // Runs a whole good transfer, on the good machine or another.
  coro::Task<void> ExpectServed(std::uint64_t session) {
    const absl::Status done = co_await ExpectServedAt(good_machine_, session);
    EXPECT_THAT(done, IsOk());
  }
  coro::Task<absl::Status> ExpectServedAt(Machine& machine, std::uint64_t session) {
    auto client = Client::Open(*machine.node, GoodOptions(session), ServerAddress());
    const absl::StatusOr<TransferReport> report = co_await (*client)->Run();
    EXPECT_THAT(report, IsOk());
    EXPECT_TRUE(report.ok() && report->verification.correct());
    co_return report.status();
  }

  // Sends raw bytes from the bad machine, or another.
  coro::Task<absl::Status> SendRaw(std::vector<std::byte> bytes) {
    return SendRawFrom(bad_machine_, std::move(bytes));
  }
  coro::Task<absl::Status> SendRawFrom(Machine& machine, std::vector<std::byte> bytes) {
    fabric::async::Node& node = *machine.node;
    const fabric::Peer peer = node.peers().Insert(ServerAddress()).value();
    fabric::async::BufferRef buffer = node.Allocate(bytes.size()).value();
    std::copy(bytes.begin(), bytes.end(), buffer->bytes().begin());
    const fabric::Completion sent = co_await node.endpoint().Send(buffer, peer);
    co_return node.endpoint().ToStatus(sent, "send");
  }

  // A request for some pages. (Made here, and not inside the coroutines: GCC 12 cannot compile a
  // braced list there.)
  static std::vector<std::byte> RequestOf(std::uint64_t session, std::uint64_t page_bytes,
                                          std::vector<std::uint32_t> pages) {
    RandomFillMessage request;
    request.session = session;
    request.page_bytes = page_bytes;
    request.page_indices = std::move(pages);
    return Encode(request);
  }

  ConnectMessage ConnectOf(std::uint64_t session) { return ConnectOf(session, bad_machine_); }
  ConnectMessage ConnectOf(std::uint64_t session, Machine& machine) {
    regions_.push_back(machine.node->Allocate(kSmallRegion).value());
    ConnectMessage connect{.session = session, .address = machine.node->endpoint().address()};
    for (RemoteRegion& region : connect.regions)
      region = {regions_.back()->region().remote(), kSmallRegion};
    return connect;
  }

  // All pages of both regions.
  static std::vector<std::byte> RequestOfEverything(std::uint64_t session) {
    std::vector<std::uint32_t> pages(16);
    std::iota(pages.begin(), pages.end(), 0u);
    return RequestOf(session, kSmallRegion / 16, pages);
  }

  // A client that asks for everything and dies.
  coro::Task<absl::Status> AskAndDie(Machine& machine, std::uint64_t session) {
    const std::vector<std::byte> connect = Encode(ConnectOf(session, machine));
    const std::vector<std::byte> request = RequestOfEverything(session);
    CO_RETURN_IF_ERROR(co_await SendRawFrom(machine, connect));
    CO_RETURN_IF_ERROR(co_await SendRawFrom(machine, request));
    machine.machine.Kill();
    co_return absl::OkStatus();
  }

  // Runs `misbehave` against the server, then a good client.
  void Run(coro::Task<absl::Status> misbehave) {
    auto main = [this](coro::Task<absl::Status> bad) -> coro::Task<void> {
      coro::Scope background;
      background.Spawn(server_->Run());
      const absl::Status status = co_await std::move(bad);
      EXPECT_THAT(status, IsOk());
      co_await coro::Sleep(1ms);
      co_await ExpectServed(4711);
    };
    EXPECT_THAT(loop_.Run(main(std::move(misbehave))), IsOk());
  }

  sim::World world_{1, **sim::FindProfile("small")};
  coro::EventLoop loop_{world_};
  Machine server_machine_{world_, loop_, "server"};
  Machine good_machine_{world_, loop_, "good"};
  Machine bad_machine_{world_, loop_, "bad"};
  std::vector<std::string> complaints_;
  std::vector<fabric::async::BufferRef> regions_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, ServesOneClientAfterAnother) {
  auto again = [this]() -> coro::Task<absl::Status> {
    for (std::uint64_t session = 1; session <= 5; ++session) co_await ExpectServed(session);
    co_return absl::OkStatus();
  };
  Run(again());
  EXPECT_THAT(complaints_, IsEmpty());
}

TEST_F(ServerTest, CorruptMessagesCostOneLineEach) {
  const std::vector<std::byte> request = RequestOf(99, 4096, {0});
  const std::vector<std::byte> refusal = Encode(RefusedMessage{1, "you"});
  auto misbehave = [&]() -> coro::Task<absl::Status> {
    const std::vector<std::byte> connect = Encode(ConnectOf(1));
    CO_RETURN_IF_ERROR(co_await SendRaw({connect.begin(), connect.begin() + 30}));
    std::vector<std::byte> garbage(100, std::byte{0x5a});
    CO_RETURN_IF_ERROR(co_await SendRaw(garbage));
    CO_RETURN_IF_ERROR(co_await SendRaw(refusal));
    CO_RETURN_IF_ERROR(co_await SendRaw(request));
    co_return absl::OkStatus();
  };
  Run(misbehave());
  EXPECT_EQ(complaints_.size(), 4u);
  EXPECT_THAT(complaints_, Contains(HasSubstr("CONNECT is truncated")));
  EXPECT_THAT(complaints_, Contains(HasSubstr("not one of ours")));
  EXPECT_THAT(complaints_, Contains(HasSubstr("a server is not refused")));
  EXPECT_THAT(complaints_, Contains(HasSubstr("it did not connect")));
}

TEST_F(ServerTest, ConnectThatCannotBeServedIsRefused) {
  auto misbehave = [this]() -> coro::Task<absl::Status> {
    ConnectMessage connect = ConnectOf(1);
    connect.regions[1].length_bytes = 1ull << 60;
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(connect)));
    connect = ConnectOf(2);
    connect.address = *fabric::Address::Parse("0011");
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(connect)));
    connect = ConnectOf(3);
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(connect)));
    co_return co_await SendRaw(Encode(connect));
  };
  Run(misbehave());
  EXPECT_EQ(complaints_.size(), 3u);
  EXPECT_THAT(complaints_, Contains(HasSubstr("region of 1152921504606846976 bytes")));
  EXPECT_THAT(complaints_, Contains(HasSubstr("an EFA address has 32")));
  EXPECT_THAT(complaints_, Contains(HasSubstr("session 3: it is connected")));
}

// A request past the region never becomes a write, and the client is told.
TEST_F(ServerTest, RequestPastTheRegionIsRefusedAndTheClientIsTold) {
  const std::vector<std::byte> request = RequestOf(1, 4096, {256});
  auto misbehave = [&]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(ConnectOf(1))));
    fabric::async::BufferRef room = bad_machine_.node->Allocate(kMessageBytes).value();
    CO_RETURN_IF_ERROR(co_await SendRaw(request));
    const fabric::Completion answer = co_await bad_machine_.node->endpoint().Recv(room);
    EXPECT_TRUE(answer.ok());
    const absl::StatusOr<Message> refused = Decode(room->bytes().first(answer.length_bytes));
    EXPECT_THAT(refused, IsOk());
    EXPECT_THAT(std::get<RefusedMessage>(*refused).reason,
                HasSubstr("page index 256 is past the region"));
    co_return absl::OkStatus();
  };
  Run(misbehave());
  EXPECT_THAT(complaints_, Contains(HasSubstr("page index 256 is past the region")));
}

TEST_F(ServerTest, RefusedClientReportsTheServersWords) {
  auto main = [this]() -> coro::Task<void> {
    coro::Scope background;
    background.Spawn(server_->Run());
    ClientOptions options = GoodOptions(1);
    options.region_bytes = 2 * kSmallRegion;  // more than this server has
    auto client = Client::Open(*good_machine_.node, options, ServerAddress());
    const absl::StatusOr<TransferReport> report = co_await (*client)->Run();
    EXPECT_THAT(report, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("the server refused: region of 2097152 bytes")));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_THAT(complaints_, Contains(HasSubstr("region of 2097152 bytes")));
}

// A bad key is the peer's to answer for: the write fails at the target, and only this transfer with
// it.
TEST_F(ServerTest, BadRemoteKeyEndsOneTransfer) {
  const std::vector<std::byte> request = RequestOf(1, 4096, {0, 1});
  auto misbehave = [&]() -> coro::Task<absl::Status> {
    ConnectMessage connect = ConnectOf(1);
    for (RemoteRegion& region : connect.regions) region.remote.key += 1;
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(connect)));
    CO_RETURN_IF_ERROR(co_await SendRaw(request));
    co_await coro::Sleep(10ms);
    co_return absl::OkStatus();
  };
  Run(misbehave());
  EXPECT_THAT(complaints_, Contains(HasSubstr("remote key, range or access right invalid")));
}

TEST_F(ServerTest, ClientThatDiesDuringTheTransferIsGivenUp) {
  auto misbehave = [this]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await AskAndDie(bad_machine_, 1));
    co_await coro::Sleep(10s);
    co_return absl::OkStatus();
  };
  Run(misbehave());
  EXPECT_EQ(complaints_.size(), 1u);
  EXPECT_THAT(complaints_, Contains(HasSubstr("the peer stopped answering")));
}

// The transfer to the dead client is still being tried when the next client is served.
TEST_F(ServerTest, DeadClientDelaysNobody) {
  auto misbehave = [this]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await AskAndDie(bad_machine_, 1));
    co_await ExpectServed(2);
    EXPECT_THAT(complaints_, IsEmpty());
    co_await coro::Sleep(10s);
    co_return absl::OkStatus();
  };
  Run(misbehave());
  EXPECT_EQ(complaints_.size(), 1u);
}

// Dead clients hold as many transfers as the server serves at a time: the next one waits until they
// are given up, and not longer.
TEST_F(ServerTest, DeadClientsTakeABoundedPartOfTheServer) {
  ServerOptions options = SmallServer();
  options.most_transfers = 2;
  OpenServer(options);
  Machine another_bad_machine(world_, loop_, "another");
  auto misbehave = [&]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await AskAndDie(bad_machine_, 1));
    CO_RETURN_IF_ERROR(co_await AskAndDie(another_bad_machine, 2));
    EXPECT_THAT(complaints_, IsEmpty());
    co_await ExpectServed(3);
    EXPECT_THAT(complaints_, Not(IsEmpty()));
    co_await coro::Sleep(10s);
    co_return absl::OkStatus();
  };
  Run(misbehave());
  EXPECT_EQ(complaints_.size(), 2u) << ::testing::PrintToString(complaints_);
}

// More clients at a time than there is memory for: they wait for each other.
TEST_F(ServerTest, ManyClientsAtOnceAreAllServed) {
  ServerOptions options = SmallServer();
  options.most_transfers = 2;
  OpenServer(options);
  std::vector<std::unique_ptr<Machine>> machines;
  for (int i = 0; i < 6; ++i) {
    machines.push_back(std::make_unique<Machine>(world_, loop_, "client"));
  }
  auto crowd = [&]() -> coro::Task<absl::Status> {
    coro::Scope clients;
    for (std::size_t i = 0; i < machines.size(); ++i) {
      clients.Spawn(ExpectServedAt(*machines[i], i + 1));
    }
    co_return co_await clients.Join();
  };
  Run(crowd());
  EXPECT_THAT(complaints_, IsEmpty());
}

// Two sessions of one endpoint are one peer: the end of the first must not take it from the second.
TEST_F(ServerTest, TwoSessionsOfOneClientDoNotDisturbEachOther) {
  auto twice = [this]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await SendRawFrom(good_machine_, Encode(ConnectOf(1, good_machine_))));
    co_await ExpectServed(2);
    CO_RETURN_IF_ERROR(co_await SendRawFrom(good_machine_, RequestOfEverything(1)));
    co_await coro::Sleep(10ms);
    co_return absl::OkStatus();
  };
  Run(twice());
  EXPECT_THAT(complaints_, IsEmpty());
}

TEST_F(ServerTest, SessionIsGoodForOneRequest) {
  auto twice = [this]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(ConnectOf(1))));
    CO_RETURN_IF_ERROR(co_await SendRaw(RequestOfEverything(1)));
    CO_RETURN_IF_ERROR(co_await SendRaw(RequestOfEverything(1)));
    co_await coro::Sleep(10ms);
    co_return absl::OkStatus();
  };
  Run(twice());
  EXPECT_THAT(complaints_, ElementsAre(HasSubstr("session 1: it did not connect")));
}

TEST_F(ServerTest, EndsAfterAsManyTransfersAsItWasTold) {
  ServerOptions options = SmallServer();
  options.clients = 3;
  OpenServer(options);
  auto main = [this]() -> coro::Task<absl::Status> {
    coro::Scope background;
    background.Spawn(server_->Run());
    for (std::uint64_t session = 1; session <= 3; ++session) {
      EXPECT_EQ(background.running(), 1u);
      co_await ExpectServed(session);
    }
    co_return co_await background.Join();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(ServerTest, ClientThatConnectsAndVanishesIsForgotten) {
  auto misbehave = [this]() -> coro::Task<absl::Status> {
    for (std::uint64_t session = 1; session <= 3; ++session) {
      CO_RETURN_IF_ERROR(co_await SendRaw(Encode(ConnectOf(session))));
    }
    co_await coro::Sleep(61s);
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(ConnectOf(1))));  // not "exists"
    co_return absl::OkStatus();
  };
  Run(misbehave());
  EXPECT_THAT(complaints_, IsEmpty());
}

TEST_F(ServerTest, SilentServerIsGivenUpByItsClient) {
  auto main = [this]() -> coro::Task<void> {
    ClientOptions options = GoodOptions(1);
    options.silence_timeout = 3s;
    auto client = Client::Open(*good_machine_.node, options, ServerAddress());
    const coro::Time start = loop_.Now();
    const absl::StatusOr<TransferReport> report = co_await (*client)->Run();
    EXPECT_THAT(report, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("send CONNECT")));
    EXPECT_LT(loop_.Now() - start, 4s);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(ServerTest, DeadServerIsReportedAsUnreachable) {
  auto main = [this]() -> coro::Task<void> {
    server_machine_.machine.Kill();
    auto client = Client::Open(*good_machine_.node, GoodOptions(1), ServerAddress());
    const absl::StatusOr<TransferReport> report = co_await (*client)->Run();
    EXPECT_THAT(report,
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the peer never answered")));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

}  // namespace
}  // namespace drydock::apps::write
