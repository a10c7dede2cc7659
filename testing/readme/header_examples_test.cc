// The examples at the top of headers are code that compiles and runs. What stands here between the
// lines "// begin" and "// end" is, without its indentation, the example of that header.

#include <cstddef>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/completion_dispatcher.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/mocks/mock_fabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coro = drydock::coro;
namespace fabric = drydock::fabric;
namespace sim = drydock::sim;

namespace {

using ::testing::HasSubstr;
using ::testing::Return;

enum class Next { kAwait, kRetry, kGiveUp };

Next EndpointExample(fabric::Endpoint* endpoint, const fabric::MemoryRegion* region,
                     fabric::RemoteBuffer peer_memory, fabric::Peer peer) {
  // begin fabric/endpoint.h
  fabric::WriteRequest write;
  write.source = region->Local(0, 4096);
  write.target = peer_memory;
  write.peer = peer;
  write.immediate = 7;
  write.context = fabric::Context{42};
  switch (endpoint->Write(write)) {
    case fabric::ErrorCode::kOk:
      return Next::kAwait;  // exactly one completion with context 42 will come
    case fabric::ErrorCode::kAgain:
      return Next::kRetry;  // nothing happened: read the completion queue first
    default:
      return Next::kGiveUp;  // nothing happened, and this request never succeeds
  }
  // end
}

using drydock::fabric::async::AsyncEndpoint;
using drydock::fabric::async::BufferRef;
using drydock::fabric::async::BufferSlice;
using drydock::fabric::async::CompletionDispatcher;

coro::Task<absl::Status> AsyncExample(CompletionDispatcher& dispatcher,
                                      std::unique_ptr<fabric::Endpoint> raw_endpoint,
                                      BufferRef buffer, fabric::RemoteBuffer target,
                                      fabric::Peer peer) {
  // begin fabric/async/async_endpoint.h
  AsyncEndpoint endpoint(dispatcher, std::move(raw_endpoint));
  const fabric::Completion done =
      co_await endpoint.Write(BufferSlice(buffer, 0, 4096), target, peer, {.immediate = 7});
  if (!done.ok()) co_return endpoint.ToStatus(done, "write page 0");
  // end
  co_return absl::OkStatus();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of this file between the markers of a header, as a comment shows them.
std::string ExampleOf(const std::string& header) {
  std::istringstream lines(ReadFile("testing/readme/header_examples_test.cc"));
  std::string example;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "  // begin " + header) {
      inside = true;
    } else if (line == "  // end") {
      inside = false;
    } else if (inside) {
      example += (line.empty() ? "//" : "// " + line) + '\n';
    }
  }
  EXPECT_FALSE(example.empty()) << header;
  return example;
}

TEST(HeaderExamplesTest, HeadersShowThem) {
  for (const std::string header : {"fabric/endpoint.h", "fabric/async/async_endpoint.h"}) {
    EXPECT_THAT(ReadFile(header), HasSubstr("//\n" + ExampleOf(header) + "//\n")) << header;
  }
}

// What the endpoint answers to the request of the example, and what the example makes of it.
Next After(fabric::ErrorCode error) {
  fabric::MockEndpoint endpoint;
  ::testing::NiceMock<fabric::MockMemoryRegion> region;
  std::byte byte{};
  ON_CALL(region, data()).WillByDefault(Return(&byte));
  ON_CALL(region, length_bytes()).WillByDefault(Return(std::size_t{4096}));
  const std::size_t accepted = error == fabric::ErrorCode::kOk ? 1 : 0;
  EXPECT_CALL(endpoint, Write(::testing::An<std::span<const fabric::WriteRequest>>()))
      .WillOnce([&](std::span<const fabric::WriteRequest> requests) {
        EXPECT_EQ(requests.size(), 1u);
        EXPECT_EQ(requests[0].immediate, 7u);
        EXPECT_EQ(requests[0].context, fabric::Context{42});
        return fabric::PostResult{.accepted = accepted, .error = error};
      });
  return EndpointExample(&endpoint, &region, {.address = 0, .key = 1}, fabric::Peer{});
}

TEST(HeaderExamplesTest, EndpointTakesEveryBranch) {
  EXPECT_EQ(After(fabric::ErrorCode::kOk), Next::kAwait);
  EXPECT_EQ(After(fabric::ErrorCode::kAgain), Next::kRetry);
  EXPECT_EQ(After(fabric::ErrorCode::kUnknownPeer), Next::kGiveUp);
}

TEST(HeaderExamplesTest, AsyncEndpointWrites) {
  sim::TwoNodes nodes;
  auto raw = nodes.a.domain().OpenEndpoint({.send_queue = &nodes.a.dispatcher().queue(),
                                            .receive_queue = &nodes.a.dispatcher().queue(),
                                            .address_vector = &nodes.a.peers()});
  ASSERT_TRUE(raw.ok()) << raw.status();
  ASSERT_TRUE(nodes.b.peers().Insert((*raw)->address()).ok());
  const BufferRef from = nodes.a.Allocate(4096).value();
  const BufferRef to = nodes.b.Allocate(4096).value();
  from->bytes()[4095] = std::byte{42};
  const absl::Status written = nodes.loop.Run(AsyncExample(
      nodes.a.dispatcher(), *std::move(raw), from, to->region().remote(), nodes.a.peer(1)));
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(to->bytes()[4095], std::byte{42});
}

}  // namespace
