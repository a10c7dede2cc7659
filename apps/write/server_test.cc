// A server and clients that misbehave: whatever they send, and however they disappear, the server
// serves the next one.

#include "apps/write/server.h"

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "apps/write/client.h"
#include "coro/event_loop.h"
#include "coro/scope.h"
#include "coro/sleep.h"
#include "coro/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/sim_fabric.h"
#include "sim/world.h"
#include "testing/matchers/status_matchers.h"

namespace apps::write {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing_matchers::IsOk;
using ::testing_matchers::StatusIs;

constexpr std::size_t kSmallRegion = 1 << 20;

// One machine with a network of its own.
struct Machine {
  Machine(sim::World& world, coro::EventLoop& loop, const char* name)
      : node(world.AddNode(name)),
        fabric(sim::OpenSimFabric(world, node)),
        network(Network::Open(loop, *fabric, 0).value()) {}

  sim::Node& node;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<Network> network;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    ServerOptions options;
    options.region_bytes = kSmallRegion;
    options.write_timeout = 5s;
    options.log = [this](absl::string_view line, bool bad) {
      if (bad) complaints_.emplace_back(line);
    };
    server_ = Server::Open(*server_machine_.network, options).value();
  }

  static ClientOptions GoodOptions(std::uint64_t session) {
    ClientOptions options;
    options.region_bytes = kSmallRegion;
    options.page_bytes = 64 << 10;
    options.session = session;
    return options;
  }

  // Runs a whole good transfer.
  coro::Task<void> ExpectServed(std::uint64_t session) {
    auto client = Client::Open(*good_machine_.network, GoodOptions(session));
    const absl::StatusOr<TransferReport> report =
        co_await (*client)->Run(server_machine_.network->endpoint().address());
    EXPECT_THAT(report, IsOk());
    EXPECT_TRUE(report.ok() && report->verification.correct());
  }

  // Sends raw bytes from the bad machine.
  coro::Task<absl::Status> SendRaw(std::vector<std::byte> bytes) {
    Network& network = *bad_machine_.network;
    const fabric::Peer peer =
        network.peers().Insert(server_machine_.network->endpoint().address()).value();
    fabric::async::BufferRef buffer = network.Allocate(bytes.size()).value();
    std::copy(bytes.begin(), bytes.end(), buffer->bytes().begin());
    const fabric::Completion sent = co_await network.endpoint().Send(buffer, peer);
    co_return network.endpoint().ToStatus(sent, "send");
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

  ConnectMessage ConnectOf(std::uint64_t session) {
    region_ = bad_machine_.network->Allocate(kSmallRegion).value();
    ConnectMessage connect{.session = session,
                           .address = bad_machine_.network->endpoint().address()};
    for (RemoteRegion& region : connect.regions)
      region = {region_->region().remote(), kSmallRegion};
    return connect;
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
  fabric::async::BufferRef region_;
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
  EXPECT_THAT(complaints_, Contains(HasSubstr("did not connect")));
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
  EXPECT_THAT(complaints_, Contains(HasSubstr("session that exists")));
}

// A request past the region never becomes a write, and the client is told.
TEST_F(ServerTest, RequestPastTheRegionIsRefusedAndTheClientIsTold) {
  const std::vector<std::byte> request = RequestOf(1, 4096, {256});
  auto misbehave = [&]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(ConnectOf(1))));
    fabric::async::BufferRef room = bad_machine_.network->Allocate(kMessageBytes).value();
    CO_RETURN_IF_ERROR(co_await SendRaw(request));
    const fabric::Completion answer = co_await bad_machine_.network->endpoint().Recv(room);
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
    auto client = Client::Open(*good_machine_.network, options);
    const absl::StatusOr<TransferReport> report =
        co_await (*client)->Run(server_machine_.network->endpoint().address());
    EXPECT_THAT(report,
                StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("0 of 16 writes arrived")));
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
  std::vector<std::uint32_t> pages(16);
  std::iota(pages.begin(), pages.end(), 0u);
  const std::vector<std::byte> request = RequestOf(1, 65536, pages);
  auto misbehave = [&]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await SendRaw(Encode(ConnectOf(1))));
    CO_RETURN_IF_ERROR(co_await SendRaw(request));
    co_await coro::Sleep(20us);
    bad_machine_.node.Kill();
    co_await coro::Sleep(10s);
    co_return absl::OkStatus();
  };
  Run(misbehave());
  EXPECT_EQ(complaints_.size(), 1u);
  EXPECT_THAT(complaints_, Contains(HasSubstr("the peer stopped answering")));
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
    auto client = Client::Open(*good_machine_.network, options);
    const coro::Time start = loop_.Now();
    const absl::StatusOr<TransferReport> report =
        co_await (*client)->Run(server_machine_.network->endpoint().address());
    EXPECT_THAT(report, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("send CONNECT")));
    EXPECT_LT(loop_.Now() - start, 4s);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(ServerTest, DeadServerIsReportedAsUnreachable) {
  auto main = [this]() -> coro::Task<void> {
    server_machine_.node.Kill();
    auto client = Client::Open(*good_machine_.network, GoodOptions(1));
    const absl::StatusOr<TransferReport> report =
        co_await (*client)->Run(server_machine_.network->endpoint().address());
    EXPECT_THAT(report,
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the peer never answered")));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

}  // namespace
}  // namespace apps::write
