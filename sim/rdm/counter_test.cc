// Counters: software raises them with the completions that it reports, and with nothing else.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Capability;
using fabric::Context;
using fabric::ErrorCode;

class CounterTest : public ::testing::Test {
 protected:
  // b counts peers' operations on its memory; `without`: the features that no device has.
  void Open(std::vector<Capability> without) {
    TestBedOptions options;
    options.alteration.without = std::move(without);
    written_.reset();  // before the world that they count in
    read_.reset();
    bed_ = std::make_unique<TestBed>(options);
    written_ = bed_->b().domain->OpenCounter().value();
    read_ = bed_->b().domain->OpenCounter().value();
    bed_->ReplaceEndpoint(
        1, {.counters = {.remote_writes = written_.get(), .remote_reads = read_.get()}});
  }
  void Write(std::size_t length, std::optional<std::uint32_t> immediate) {
    const fabric::WriteRequest request{.source = bed_->a().Local(0, length),
                                       .target = bed_->b().Remote(0),
                                       .peer = bed_->a().peers[1],
                                       .immediate = immediate,
                                       .context = Context{1}};
    ASSERT_EQ(bed_->Post([&] { return bed_->a().endpoint->Write(request); }), ErrorCode::kOk);
    EXPECT_TRUE(bed_->Take(bed_->a(), 1).ok());
  }
  void Read(std::size_t length) {
    const fabric::ReadRequest request{.target = bed_->a().Local(0, length),
                                      .source = bed_->b().Remote(0),
                                      .peer = bed_->a().peers[1],
                                      .context = Context{1}};
    ASSERT_EQ(bed_->Post([&] { return bed_->a().endpoint->Read(request); }), ErrorCode::kOk);
    EXPECT_TRUE(bed_->Take(bed_->a(), 1).ok());
  }
  void Atomic(bool fetches) {
    fabric::AtomicRequest request{.operand = bed_->a().Local(0, 8),
                                  .target = bed_->b().Remote(0),
                                  .peer = bed_->a().peers[1],
                                  .context = Context{1}};
    if (fetches) request.result = bed_->a().Local(64, 8);
    ASSERT_EQ(bed_->Post([&] { return bed_->a().atomics().Atomic(request); }), ErrorCode::kOk);
    EXPECT_TRUE(bed_->Take(bed_->a(), 1).ok());
  }

  std::unique_ptr<TestBed> bed_;
  std::unique_ptr<fabric::Counter> written_, read_;
};

// A program that waits for plain writes by a counter waits for ever, whether the target's NIC or
// its software places them.
TEST_F(CounterTest, WritesWithAnImmediateCountAndOthersDoNot) {
  for (const bool device : {true, false}) {
    SCOPED_TRACE(device ? "device" : "software");
    Open(device ? std::vector<Capability>{} : std::vector{Capability::kRemoteWrite});
    Write(100, std::nullopt);
    Write(100000, std::nullopt);
    Atomic(/*fetches=*/false);
    bed_->Pump();
    EXPECT_EQ(written_->Read(), 0u);
    Write(100, 5);
    bed_->TakeRemoteWrite(bed_->b());
    EXPECT_EQ(written_->Read(), 1u);
    // Messages are no writes, however they travel.
    ASSERT_EQ(bed_->Recv(0, 2000000, 2), ErrorCode::kOk);
    ASSERT_EQ(bed_->Send(0, 2000000, 3), ErrorCode::kOk);
    EXPECT_TRUE(bed_->Take(bed_->b(), 2).ok());
    EXPECT_TRUE(bed_->Take(bed_->a(), 3).ok());
    EXPECT_EQ(written_->Read(), 1u);
    EXPECT_TRUE(written_->Set(100).ok());
    Write(10, 6);
    bed_->TakeRemoteWrite(bed_->b());
    EXPECT_EQ(written_->Read(), 101u);
  }
}

TEST_F(CounterTest, ReadsOfPeersAreNeverCounted) {
  for (const bool device : {true, false}) {
    SCOPED_TRACE(device ? "device" : "software");
    Open(device ? std::vector<Capability>{}
                : std::vector{Capability::kRemoteWrite, Capability::kRemoteRead});
    Read(100);
    Read(100000);
    Atomic(/*fetches=*/true);
    bed_->Pump();
    EXPECT_EQ(read_->Read(), 0u);
    EXPECT_EQ(written_->Read(), 0u);
  }
}

// Our atomics are writes, or reads where they fetch.
TEST_F(CounterTest, OwnAtomicsCountAsWritesAndReads) {
  Open({});
  const auto writes = bed_->a().domain->OpenCounter().value();
  const auto reads = bed_->a().domain->OpenCounter().value();
  bed_->ReplaceEndpoint(0, {.counters = {.writes = writes.get(), .reads = reads.get()}});
  Atomic(false);
  Atomic(false);
  Atomic(true);
  EXPECT_EQ(writes->Read(), 2u);
  EXPECT_EQ(reads->Read(), 1u);
}

}  // namespace
}  // namespace drydock::sim::rdm
