// Completions counted.

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::Counter;
using fabric::CounterBindings;
using fabric::ErrorCode;
using ::testing::HasSubstr;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

const Needs kNeeds("CounterContract", {Capability::kCounters});

class CounterContract : public ContractTest {
 protected:
  // Each side counts its own operations, and those that it receives.
  struct Counters {
    std::unique_ptr<Counter> sends, receives, writes, reads;
  };

  fabric::EndpointOptions Options(Side& side) override {
    Counters& own = CountersOf(side);
    for (auto* counter : {&own.sends, &own.receives, &own.writes, &own.reads}) {
      *counter = side.domain->OpenCounter().value();
    }
    fabric::EndpointOptions options = PartsOf(side);
    options.counters = {.sends = own.sends.get(),
                        .receives = own.receives.get(),
                        .writes = own.writes.get(),
                        .reads = own.reads.get()};
    return options;
  }
  Counters& CountersOf(const Side& side) {
    return &side == &initiator_ ? initiators_ : &side == &target_ ? targets_ : thirds_;
  }

  // Pumps until the counter has this value, and then a little longer: it must not go on.
  void ExpectCount(Counter& counter, std::uint64_t value, std::uint64_t errors = 0) {
    PumpUntil([&] { return counter.Read() >= value && counter.ReadErrors() >= errors; });
    PumpQuietly();
    EXPECT_EQ(counter.Read(), value);
    EXPECT_EQ(counter.ReadErrors(), errors);
  }

  // A target whose endpoint also counts peers' operations, or the refusal.
  absl::StatusOr<std::unique_ptr<fabric::Endpoint>> OpenCounting(CounterBindings bindings) {
    fabric::EndpointOptions options = PartsOf(target_);
    options.counters = bindings;
    return target_.domain->OpenEndpoint(options);
  }

  Counters initiators_, targets_, thirds_;
};

TEST_F(CounterContract, SuccessesAreCounted) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(Recv(0, 100, i), ErrorCode::kOk);
    ASSERT_EQ(Send(0, 100, i), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(Write(0, 100, target_.Remote(0), 10 + i), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(Read(0, 100, target_.Remote(0), 20 + i), ErrorCode::kOk);
  }
  ExpectCount(*initiators_.sends, 3);
  ExpectCount(*initiators_.writes, 4);
  ExpectCount(*initiators_.reads, 5);
  ExpectCount(*initiators_.receives, 0);
  ExpectCount(*targets_.receives, 3);
  ExpectCount(*targets_.sends, 0);
}

// A completion is there though it was counted.
TEST_F(CounterContract, CompletionsCanBeReadAllTheSame) {
  ASSERT_EQ(Write(0, 100, target_.Remote(0), 1), ErrorCode::kOk);
  ExpectCount(*initiators_.writes, 1);
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

// And must be: only reading frees the slots of a queue. (The device's slots are free when libfabric
// has read the device's queue for a counter's reader; that of the request is not.)
TEST_F(CounterContract, CountersFreeNoSlots) {
  Connect();
  ErrorCode error = ErrorCode::kOk;
  std::uint64_t posted = 0;
  const fabric::WriteRequest request = WriteOf(0, 1, target_.Remote(0), Context{1});
  const coro::Time deadline = backend_->Now() + backend_->Patience();
  // The peer makes progress, and we only count.
  while (posted <= limits().send_queue_depth && backend_->Now() < deadline) {
    error = initiator_.endpoint->Write(request);
    if (error == ErrorCode::kOk) {
      ++posted;
    } else {
      ASSERT_EQ(error, ErrorCode::kAgain);
      initiators_.writes->Read();
      if (posted == limits().send_queue_depth) break;
      backend_->Idle();
      ReadQueue(target_);
    }
  }
  EXPECT_EQ(posted, limits().send_queue_depth);
  for (int i = 0; i < 100; ++i) {
    initiators_.writes->Read();
    ReadQueue(target_);
    backend_->Idle();
    EXPECT_EQ(initiator_.endpoint->Write(request), ErrorCode::kAgain);
  }
  EXPECT_EQ(Post([&] { return initiator_.endpoint->Write(request); }), ErrorCode::kOk);
}

TEST_F(CounterContract, SilentSuccessesAreCounted) {
  const fabric::WriteRequest silent = WriteOf(0, 8, target_.Remote(0), std::nullopt);
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Write(silent); }), ErrorCode::kOk);
  ExpectCount(*initiators_.writes, 1);
  EXPECT_TRUE(initiator_.completions.empty());
}

// The message that is too long fails on one side: it is no success there, and a failure where
// failures are counted.
TEST_F(CounterContract, FailuresAreCountedApart) {
  const std::uint64_t told = Has(Trait::kErrorCounts) ? 1 : 0;
  ASSERT_EQ(Recv(0, 10, 1), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 100, 2), ErrorCode::kOk);
  if (Has(Trait::kSourceTruncation)) {
    EXPECT_EQ(Take(initiator_, 2).error, ErrorCode::kTruncated);
    ExpectCount(*initiators_.sends, 0, told);
    ExpectCount(*targets_.receives, 0, 0);
  } else {
    EXPECT_EQ(Take(target_, 1).error, ErrorCode::kTruncated);
    ExpectCount(*targets_.receives, 0, told);
    ExpectCount(*initiators_.sends, 1, 0);
  }
}

TEST_F(CounterContract, CountCanBeSetAndMoved) {
  EXPECT_THAT(initiators_.writes->Set(1000), IsOk());
  EXPECT_EQ(initiators_.writes->Read(), 1000u);
  EXPECT_THAT(initiators_.writes->Add(5), IsOk());
  EXPECT_EQ(initiators_.writes->Read(), 1005u);
  ASSERT_EQ(Write(0, 100, target_.Remote(0), 1), ErrorCode::kOk);
  ExpectCount(*initiators_.writes, 1006);
  EXPECT_THAT(initiators_.writes->Set(0), IsOk());
  EXPECT_EQ(initiators_.writes->Read(), 0u);
}

TEST_F(CounterContract, OneCounterServesSeveralOperations) {
  ASSERT_OK_AND_ASSIGN(auto all, initiator_.domain->OpenCounter());
  fabric::EndpointOptions options = PartsOf(initiator_);
  options.counters = {.sends = all.get(), .writes = all.get(), .reads = all.get()};
  ASSERT_OK_AND_ASSIGN(initiator_.endpoint, initiator_.domain->OpenEndpoint(options));
  ASSERT_TRUE(target_.peers->Insert(initiator_.endpoint->address()).ok());
  ASSERT_EQ(Recv(0, 8, 1), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 8, 2), ErrorCode::kOk);
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 3), ErrorCode::kOk);
  ASSERT_EQ(Read(0, 8, target_.Remote(0), 4), ErrorCode::kOk);
  ExpectCount(*all, 3);
  initiator_.endpoint.reset();  // before its counter
}

TEST_F(CounterContract, OneCounterServesSeveralEndpoints) {
  ASSERT_OK_AND_ASSIGN(auto both, initiator_.domain->OpenCounter());
  fabric::EndpointOptions options = PartsOf(initiator_);
  options.counters = {.writes = both.get()};
  ASSERT_OK_AND_ASSIGN(auto one, initiator_.domain->OpenEndpoint(options));
  ASSERT_OK_AND_ASSIGN(auto other, initiator_.domain->OpenEndpoint(options));
  for (fabric::Endpoint* endpoint : {one.get(), other.get()}) {
    ASSERT_TRUE(target_.peers->Insert(endpoint->address()).ok());
    const fabric::WriteRequest request = WriteOf(0, 8, target_.Remote(0), Context{1});
    ASSERT_EQ(Post([&] { return endpoint->Write(request); }), ErrorCode::kOk);
  }
  ExpectCount(*both, 2);
}

// Peers' writes and reads of our memory are counted, or refused by name. Those that make no
// completion are counted by the device, or not at all.
TEST_F(CounterContract, PeersWritesAreCountedOrRefused) {
  ASSERT_OK_AND_ASSIGN(auto counter, target_.domain->OpenCounter());
  auto endpoint = OpenCounting({.remote_writes = counter.get()});
  if (!endpoint.ok()) {
    EXPECT_THAT(endpoint.status(),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("remote_writes")));
    return;
  }
  initiator_.peer = initiator_.peers->Insert((*endpoint)->address()).value();
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 1), ErrorCode::kOk);
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 2, 2), ErrorCode::kOk);
  ExpectCount(*counter, Has(Capability::kRemoteCounts) ? 2 : 1);
  endpoint->reset();
}

TEST_F(CounterContract, PeersReadsAreCountedOrRefused) {
  ASSERT_OK_AND_ASSIGN(auto counter, target_.domain->OpenCounter());
  auto endpoint = OpenCounting({.remote_reads = counter.get()});
  if (!endpoint.ok()) {
    EXPECT_THAT(endpoint.status(),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("remote_reads")));
    return;
  }
  initiator_.peer = initiator_.peers->Insert((*endpoint)->address()).value();
  ASSERT_EQ(Read(0, 8, target_.Remote(0), 1), ErrorCode::kOk);
  ExpectCount(*counter, Has(Capability::kRemoteCounts) ? 1 : 0);
  endpoint->reset();
}

TEST_F(CounterContract, CounterInUseIsBusy) {
  EXPECT_THAT(initiators_.writes->Close(), StatusIs(absl::StatusCode::kFailedPrecondition));
  initiator_.endpoint.reset();
  EXPECT_THAT(initiators_.writes->Close(), IsOk());
  EXPECT_THAT(initiators_.writes->Close(), IsOk());
  EXPECT_EQ(initiators_.writes->Read(), 0u);
}

TEST_F(CounterContract, CounterKeepsItsDomainBusy) {
  ASSERT_OK_AND_ASSIGN(auto domain, backend_->target().OpenDomain(0));
  ASSERT_OK_AND_ASSIGN(auto counter, domain->OpenCounter());
  EXPECT_THAT(domain->Close(), StatusIs(absl::StatusCode::kFailedPrecondition));
  counter.reset();
  EXPECT_THAT(domain->Close(), IsOk());
}

TEST_F(CounterContract, EndpointOutlivesItsCountersHandle) {
  initiators_ = {};
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 1, 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

TEST_F(CounterContract, CounterOfAnotherDomainIsRefused) {
  ASSERT_OK_AND_ASSIGN(auto foreign, initiator_.domain->OpenCounter());
  EXPECT_THAT(OpenCounting({.writes = foreign.get()}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK_AND_ASSIGN(auto closed, target_.domain->OpenCounter());
  ASSERT_THAT(closed->Close(), IsOk());
  EXPECT_FALSE(OpenCounting({.writes = closed.get()}).ok());
}

}  // namespace
}  // namespace drydock::contract
