#include "drydock/fabric/async/request_channel.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "drydock/coro/keyed_random.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/harness/under_faults.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using harness::GiveUpTime;
using harness::OpenNodes;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Add {
  static constexpr std::uint32_t kMessageType = 1;
  std::uint64_t a, b;
};
struct Sum {
  static constexpr std::uint32_t kMessageType = 2;
  std::uint64_t value;
};
// A request that is answered after so long.
struct Nap {
  static constexpr std::uint32_t kMessageType = 3;
  std::uint64_t microseconds;
};
// A request that no handler takes.
struct Riddle {
  static constexpr std::uint32_t kMessageType = 4;
  std::uint64_t number;
};

coro::Task<absl::StatusOr<Sum>> DoAdd(Add add) {
  if (add.a == 13) co_return absl::OutOfRangeError("thirteen\n is too much");
  co_return Sum{add.a + add.b};
}

coro::Task<absl::StatusOr<Sum>> DoNap(Nap nap) {
  co_await coro::Sleep(nap.microseconds * 1us);
  co_return Sum{nap.microseconds};
}

RequestOptions Options() {
  RequestOptions options;
  options.session = 7;
  options.window = 4;
  options.payload_bytes = 64;
  return options;
}

class RequestChannelTest : public ::testing::Test {
 protected:
  // What runs while `body` does: a client on `a`, a server on `b`.
  template <typename Body>
  void Run(Body& body) {
    auto main = [&]() -> coro::Task<absl::Status> {
      RequestServer server(nodes_.b.endpoint(), nodes_.b.Allocate(Options().memory_bytes()).value(),
                           Options());
      server.AddClient(7, nodes_.b.peer(0));
      server.Handle<Add, Sum>(DoAdd);
      server.Handle<Nap, Sum>(DoNap);
      RequestClient client(nodes_.a.endpoint(), nodes_.a.peer(1),
                           nodes_.a.Allocate(Options().memory_bytes()).value(), Options());
      coro::Scope serving;
      serving.Spawn(server.Serve());
      co_return co_await body(client, server);
    };
    EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  }

  // One message from a to b, or back, as a peer may send it that means no good.
  coro::Task<absl::Status> SendRaw(Node& from, Peer to, std::span<const std::byte> bytes) {
    const BufferRef buffer = from.Allocate(bytes.size()).value();
    std::copy(bytes.begin(), bytes.end(), buffer->bytes().begin());
    const Completion sent = co_await from.endpoint().Send(buffer, to);
    co_return from.endpoint().ToStatus(sent, "send");
  }

  sim::TwoNodes nodes_;
};

TEST_F(RequestChannelTest, ResponsesFindTheirCallsInAnyOrder) {
  std::vector<std::uint64_t> ended;
  auto body = [&](RequestClient& client, RequestServer&) -> coro::Task<absl::Status> {
    auto nap = [&](std::uint64_t length) -> coro::Task<absl::Status> {
      CO_ASSIGN_OR_RETURN(const Sum sum, co_await client.Call<Sum>(Nap{length}));
      EXPECT_EQ(sum.value, length);
      ended.push_back(length);
      co_return absl::OkStatus();
    };
    coro::Scope calls;
    for (const std::uint64_t length : {3000, 1000, 2000}) calls.Spawn(nap(length));
    co_return co_await calls.Join();
  };
  Run(body);
  EXPECT_THAT(ended, ::testing::ElementsAre(1000, 2000, 3000));
}

TEST_F(RequestChannelTest, MoreCallsThanTheWindowAllEnd) {
  auto body = [&](RequestClient& client, RequestServer& server) -> coro::Task<absl::Status> {
    auto add = [&](std::uint64_t i) -> coro::Task<absl::Status> {
      CO_ASSIGN_OR_RETURN(const Sum sum, co_await client.Call<Sum>(Add{i, 100}));
      EXPECT_EQ(sum.value, i + 100);
      co_return absl::OkStatus();
    };
    coro::Scope calls;
    for (std::uint64_t i = 100; i < 200; ++i) calls.Spawn(add(i));
    CO_RETURN_IF_ERROR(co_await calls.Join());
    EXPECT_EQ(server.counters().unanswered, 0u);
    co_return absl::OkStatus();
  };
  Run(body);
}

TEST_F(RequestChannelTest, WhoWasRemovedIsNotAnswered) {
  auto body = [&](RequestClient& client, RequestServer& server) -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR((co_await client.Call<Sum>(Add{1, 2})).status());
    server.RemoveClient(7);
    const coro::Time deadline = coro::After(nodes_.loop.Now(), 1s);
    const auto answer = co_await client.Call<Sum>(Add{1, 2}, deadline);
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kDeadlineExceeded);
    co_return absl::OkStatus();
  };
  Run(body);
}

TEST_F(RequestChannelTest, ErrorsComeBackAsValues) {
  auto body = [&](RequestClient& client, RequestServer&) -> coro::Task<absl::Status> {
    const absl::StatusOr<Sum> refused = co_await client.Call<Sum>(Add{13, 1});
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kOutOfRange,
                                  AllOf(HasSubstr("peer: thirteen"), HasSubstr("\\n is too"))));
    const absl::StatusOr<Sum> unknown = co_await client.Call<Sum>(Riddle{1});
    EXPECT_THAT(unknown, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("type 4")));
    const absl::StatusOr<Riddle> other = co_await client.Call<Riddle>(Add{1, 2});
    EXPECT_THAT(other, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("type 2")));
    co_return absl::OkStatus();
  };
  Run(body);
}

TEST_F(RequestChannelTest, LateResponsesAreRecognised) {
  auto body = [&](RequestClient& client, RequestServer&) -> coro::Task<absl::Status> {
    const absl::StatusOr<Sum> late = co_await client.Call<Sum>(Nap{2000}, nodes_.loop.Now() + 1ms);
    EXPECT_THAT(late, StatusIs(absl::StatusCode::kDeadlineExceeded));
    co_await coro::Sleep(2ms);
    EXPECT_EQ(client.counters().late, 1u);
    CO_ASSIGN_OR_RETURN(const Sum sum, co_await client.Call<Sum>(Add{1, 2}));
    EXPECT_EQ(sum.value, 3u);
    co_return absl::OkStatus();
  };
  Run(body);
}

// A server that answers a call, answers it once more, and then a call that was never made.
TEST_F(RequestChannelTest, SecondAndUnaskedResponsesAreRecognised) {
  auto body = [&](RequestClient&, RequestServer&) -> coro::Task<absl::Status> {
    CO_ASSIGN_OR_RETURN(const auto ours, nodes_.a.OpenEndpoint());
    CO_ASSIGN_OR_RETURN(const auto theirs, nodes_.b.OpenEndpoint());
    CO_ASSIGN_OR_RETURN(const Peer there, nodes_.a.Connect(theirs->address()));
    CO_ASSIGN_OR_RETURN(const Peer here, nodes_.b.Connect(ours->address()));
    CO_ASSIGN_OR_RETURN(const BufferRef at_a, nodes_.a.Allocate(Options().memory_bytes()));
    CO_ASSIGN_OR_RETURN(const BufferRef at_b, nodes_.b.Allocate(Options().memory_bytes()));
    RequestClient client(*ours, there, at_a, Options());
    MessageReceiver requests(*theirs, at_b, 1, Options().message_bytes(), 1);
    const auto answer = [&]() -> coro::Task<absl::Status> {
      CO_ASSIGN_OR_RETURN(const Message message, co_await requests.Next());
      CO_ASSIGN_OR_RETURN(const RequestMessage request, DecodeRequest(message.bytes));
      for (const std::uint64_t ahead : {0, 0, 97}) {
        std::vector<std::byte> bytes(sizeof(RequestHeader) + sizeof(Sum));
        RequestHeader header = request.header;
        header.kind = RequestMessageKind::kResponse;
        header.number += ahead;
        header.type = Sum::kMessageType;
        EncodeRequest(header, ToPayload(Sum{3}), bytes);
        CO_RETURN_IF_ERROR(co_await SendRaw(nodes_.b, here, bytes));
      }
      co_return absl::OkStatus();
    };
    coro::Scope answering;
    answering.Spawn(answer());
    CO_ASSIGN_OR_RETURN(const Sum sum, co_await client.Call<Sum>(Add{1, 2}));
    EXPECT_EQ(sum.value, 3u);
    CO_RETURN_IF_ERROR(co_await answering.Join());
    co_await coro::Sleep(1ms);
    EXPECT_EQ(client.counters().late, 1u);
    EXPECT_EQ(client.counters().unasked, 1u);
    co_return absl::OkStatus();
  };
  Run(body);
}

// A client dies with a call under way and starts again, on another endpoint and with the session
// that it had: the response to its first life answers no call of the second.
TEST_F(RequestChannelTest, ResponseToAnEarlierLifeOfAClientAnswersNoCall) {
  auto body = [&](RequestClient& first, RequestServer& server) -> coro::Task<absl::Status> {
    const absl::StatusOr<Sum> left = co_await first.Call<Sum>(Nap{2000}, nodes_.loop.Now() + 1ms);
    EXPECT_THAT(left, StatusIs(absl::StatusCode::kDeadlineExceeded));
    CO_ASSIGN_OR_RETURN(const auto endpoint, nodes_.a.OpenEndpoint());
    CO_ASSIGN_OR_RETURN(const BufferRef memory, nodes_.a.Allocate(Options().memory_bytes()));
    CO_ASSIGN_OR_RETURN(const Peer peer, nodes_.b.Connect(endpoint->address()));
    RequestClient second(*endpoint, nodes_.a.peer(1), memory, Options());
    server.AddClient(7, peer);
    CO_ASSIGN_OR_RETURN(const Sum sum, co_await second.Call<Sum>(Nap{5000}));
    EXPECT_EQ(sum.value, 5000u);
    EXPECT_EQ(second.counters().unasked, 1u);
    co_return absl::OkStatus();
  };
  Run(body);
}

// A client that asks all the time and never posts a receive: the others are answered as before.
TEST_F(RequestChannelTest, AClientThatTakesNoResponsesCostsTheOthersNoBuffers) {
  auto body = [&](RequestClient& client, RequestServer& server) -> coro::Task<absl::Status> {
    CO_ASSIGN_OR_RETURN(const auto deaf, nodes_.a.OpenEndpoint());
    CO_ASSIGN_OR_RETURN(const Peer peer, nodes_.b.Connect(deaf->address()));
    server.AddClient(8, peer);
    RequestHeader header;
    header.session = 8;
    header.type = Add::kMessageType;
    CO_ASSIGN_OR_RETURN(const BufferRef request,
                        nodes_.a.Allocate(sizeof(RequestHeader) + sizeof(Add)));
    EncodeRequest(header, ToPayload(Add{1, 2}), request->bytes());
    const auto ask = [&]() -> coro::Task<absl::Status> {
      const Completion sent = co_await deaf->Send(request, nodes_.a.peer(1));
      co_return deaf->ToStatus(sent, "send");
    };
    for (int i = 0; i < 40; ++i) CO_RETURN_IF_ERROR(co_await ask());
    const auto call = [&]() -> coro::Task<absl::Status> {
      for (std::uint64_t i = 0; i < 100; ++i) {
        CO_ASSIGN_OR_RETURN(const Sum sum, co_await client.Call<Sum>(
                                               Add{100, i}, coro::After(nodes_.loop.Now(), 100ms)));
        EXPECT_EQ(sum.value, 100 + i);
      }
      co_return absl::OkStatus();
    };
    CO_RETURN_IF_ERROR(co_await call());  // while the deaf one's responses wait
    co_await coro::Sleep(3s);
    EXPECT_EQ(server.counters().unanswered, 40u);
    CO_RETURN_IF_ERROR(co_await call());
    EXPECT_EQ(server.counters().unanswered, 40u);
    // It listens again, and is answered again: after the response that was under way.
    CO_ASSIGN_OR_RETURN(const BufferRef response, nodes_.a.Allocate(1024));
    const auto listen = [&]() -> coro::Task<absl::Status> {
      const Completion received =
          co_await deaf->Recv(response, {.deadline = coro::After(nodes_.loop.Now(), 1s)});
      co_return deaf->ToStatus(received, "receive");
    };
    CO_RETURN_IF_ERROR(co_await listen());
    for (int i = 0; i < 3; ++i) {
      CO_RETURN_IF_ERROR(co_await ask());
      CO_RETURN_IF_ERROR(co_await listen());
    }
    EXPECT_EQ(server.counters().unanswered, 40u);
    // One response is late; the other one has its turn in time.
    CO_RETURN_IF_ERROR(co_await ask());
    co_await coro::Sleep(500ms);
    CO_RETURN_IF_ERROR(co_await ask());
    co_await coro::Sleep(700ms);
    EXPECT_EQ(server.counters().unanswered, 41u);
    for (int i = 0; i < 2; ++i) CO_RETURN_IF_ERROR(co_await listen());
    EXPECT_EQ(server.counters().unanswered, 41u);
    server.RemoveClient(8);
    co_return absl::OkStatus();
  };
  Run(body);
}

// Every header with one byte changed, every length, and noise: at both ends, with a call under way.
TEST_F(RequestChannelTest, BadBytesAreCountedAndDropped) {
  auto body = [&](RequestClient& client, RequestServer& server) -> coro::Task<absl::Status> {
    std::vector<std::byte> good(sizeof(RequestHeader) + sizeof(Add));
    RequestHeader header;
    header.session = 7;
    header.number = 1000;
    header.type = Add::kMessageType;
    EncodeRequest(header, ToPayload(Add{1, 2}), good);
    std::uint64_t sent = 0;
    for (std::size_t i = 0; i < good.size(); ++i, ++sent) {
      std::vector<std::byte> bad = good;
      bad[i] ^= static_cast<std::byte>(1 + coro::Mix(i) % 255);
      if (i % 3 == 0) bad.resize(i + 1);
      CO_RETURN_IF_ERROR(co_await SendRaw(nodes_.a, nodes_.a.peer(1), bad));
      CO_RETURN_IF_ERROR(co_await SendRaw(nodes_.b, nodes_.b.peer(0), bad));
    }
    CO_ASSIGN_OR_RETURN(const Sum sum, co_await client.Call<Sum>(Add{1, 2}));
    EXPECT_EQ(sum.value, 3u);
    // To the client a request is stray at best. Where number, type or payload were changed the
    // server has answered, and the client had asked nothing.
    const RequestCounters &at_client = client.counters(), &at_server = server.counters();
    EXPECT_EQ(at_client.corrupt + at_client.stray, sent);
    EXPECT_EQ(at_server.corrupt + at_server.stray + at_client.unasked + at_client.late, sent);
    EXPECT_GT(at_server.corrupt, 20u);
    EXPECT_GE(at_server.stray, 5u);
    EXPECT_GT(at_client.unasked, 10u);
    co_return absl::OkStatus();
  };
  Run(body);
}

TEST_F(RequestChannelTest, ClosingEndsEveryCall) {
  auto body = [&](RequestClient& client, RequestServer&) -> coro::Task<absl::Status> {
    int canceled = 0;
    auto nap = [&]() -> coro::Task<absl::Status> {
      const absl::StatusOr<Sum> sum = co_await client.Call<Sum>(Nap{1'000'000});
      canceled += absl::IsCancelled(sum.status()) ? 1 : 0;
      co_return absl::OkStatus();
    };
    coro::Scope calls;
    for (int i = 0; i < 6; ++i) calls.Spawn(nap());  // two of them wait for a place
    co_await coro::Sleep(1ms);
    EXPECT_THAT(nodes_.a.endpoint().Close(), IsOk());
    CO_RETURN_IF_ERROR(co_await calls.Join());
    EXPECT_EQ(canceled, 6);
    co_return absl::OkStatus();
  };
  Run(body);
}

TEST_F(RequestChannelTest, SendThatFailsEndsItsCall) {
  auto body = [&](RequestClient& client, RequestServer&) -> coro::Task<absl::Status> {
    EXPECT_THAT(nodes_.b.endpoint().Close(), IsOk());
    const absl::StatusOr<Sum> sum = co_await client.Call<Sum>(Add{1, 2});
    EXPECT_THAT(sum, StatusIs(absl::StatusCode::kNotFound, HasSubstr("send call 1")));
    co_return absl::OkStatus();
  };
  Run(body);
}

TEST(RequestMessageTest, ErrorOfAPeerIsNeverSuccess) {
  std::vector<std::byte> payload;
  for (int length = 0; length < 6; ++length, payload.push_back(std::byte{0})) {
    EXPECT_THAT(DecodeError(payload), StatusIs(absl::StatusCode::kUnknown)) << length;
  }
  payload[0] = std::byte{17};
  EXPECT_THAT(DecodeError(payload), StatusIs(absl::StatusCode::kUnknown));
  payload[0] = std::byte{5};
  EXPECT_THAT(DecodeError(payload), StatusIs(absl::StatusCode::kNotFound));
}

TEST(RequestMessageTest, LongErrorsAreCut) {
  std::vector<std::byte> room(10);
  EXPECT_EQ(EncodeError(absl::NotFoundError("what was sought"), room), 10u);
  EXPECT_THAT(DecodeError(room), StatusIs(absl::StatusCode::kNotFound, "peer: what w"));
}

// ---- Under faults ----

coro::Task<absl::Status> CallOnce(RequestClient& client, std::uint64_t i) {
  const Add request{1000 + i, i * i};
  CO_ASSIGN_OR_RETURN(const Sum sum, co_await client.Call<Sum>(request, GiveUpTime()));
  if (sum.value != request.a + request.b) co_return harness::WrongData("another call's response");
  co_return absl::OkStatus();
}

coro::Task<absl::Status> CallUnderFaults(sim::explore::Trial& trial) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 2));
  Node &a = *machines[0], &b = *machines[1];
  CO_ASSIGN_OR_RETURN(const BufferRef at_a, a.Allocate(Options().memory_bytes()));
  CO_ASSIGN_OR_RETURN(const BufferRef at_b, b.Allocate(Options().memory_bytes()));
  RequestServer server(b.endpoint(), at_b, Options());
  server.AddClient(7, b.peer(0));
  server.Handle<Add, Sum>(DoAdd);
  RequestClient client(a.endpoint(), a.peer(1), at_a, Options());
  coro::Scope serving, calls;
  serving.Spawn(server.Serve());
  for (std::uint64_t i = 0; i < 30; ++i) calls.Spawn(CallOnce(client, i));
  const absl::Status called = co_await calls.Join();
  EXPECT_EQ(client.counters().corrupt + client.counters().unasked, 0u);
  co_return called;
}

DD_TEST_UNDER_FAULTS(RequestChannelUnderFaults, CallUnderFaults);

}  // namespace
}  // namespace drydock::fabric::async
