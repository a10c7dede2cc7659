// The target's registrations protect its memory against reads, and against writes that it would
// never hear of.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "testing/contract/contract_test.h"

namespace contract {
namespace {

using fabric::Access;
using fabric::Capability;
using fabric::ErrorCode;
using fabric::RemoteBuffer;

class ProtectionContract : public ContractTest {
 protected:
  static constexpr std::uint64_t kRefused = 1000;

  // Reads from where the target must refuse it: not one byte may be told.
  void ExpectReadRefused(RemoteBuffer from, std::size_t length) {
    Fill(target_.memory, 9);
    ASSERT_EQ(Read(0, length, from, kRefused), ErrorCode::kOk);
    ExpectRefusal();
    EXPECT_TRUE(Untouched(initiator_.memory));
  }

  // Writes without an immediate to where the target must refuse it.
  void ExpectSilentWriteRefused(RemoteBuffer to, std::size_t length) {
    Fill(Bytes(initiator_, 0, length), 9);
    ASSERT_EQ(Write(0, length, to, kRefused), ErrorCode::kOk);
    ExpectRefusal();
    EXPECT_TRUE(Untouched(target_.memory));
  }

  RemoteBuffer GuessedKey() const {
    RemoteBuffer guess = target_.Remote(0);
    guess.key ^= 0x155;
    return guess;
  }

 private:
  void ExpectRefusal() {
    if (Has(Capability::kRemoteErrors)) {
      EXPECT_EQ(Take(initiator_, kRefused).error, ErrorCode::kRemoteAccess);
    }
    PumpQuietly();
    EXPECT_TRUE(target_.completions.empty());
    initiator_.completions.clear();
  }
};

TEST_F(ProtectionContract, ReadNeedsTheKey) {
  ExpectReadRefused(GuessedKey(), 100);
  ExpectReadRefused(GuessedKey(), 50000);
}

TEST_F(ProtectionContract, ReadNeedsTheRightToRead) {
  auto region = Register(target_, 0, 5000, Access::kLocal | Access::kRemoteWrite);
  ExpectReadRefused(region->remote(), 100);
}

TEST_F(ProtectionContract, ReadEndsWithTheRegion) {
  auto region = Register(target_, 1000, 5000, Access::kAll);
  RemoteBuffer end = region->remote();
  end.address += 4999;
  ExpectReadRefused(end, 2);
  end.address += 1;
  ExpectReadRefused(end, 100);
}

TEST_F(ProtectionContract, ReadBeginsWithTheRegion) {
  auto region = Register(target_, 1000, 5000, Access::kAll);
  RemoteBuffer before = region->remote();
  before.address -= 10;
  ExpectReadRefused(before, 20);
}

TEST_F(ProtectionContract, ReadThatWrapsAroundIsRefused) {
  RemoteBuffer high = target_.Remote(0);
  high.address = std::numeric_limits<std::uint64_t>::max() - 10;
  ExpectReadRefused(high, 100);
}

TEST_F(ProtectionContract, ClosedRegionCannotBeRead) {
  auto region = Register(target_, 0, 5000, Access::kAll);
  const RemoteBuffer gone = region->remote();
  region.reset();
  ExpectReadRefused(gone, 100);
}

TEST_F(ProtectionContract, SilentWriteNeedsTheKey) {
  ExpectSilentWriteRefused(GuessedKey(), 100);
  ExpectSilentWriteRefused(GuessedKey(), 50000);
}

TEST_F(ProtectionContract, SilentWriteNeedsTheRightToWrite) {
  auto region = Register(target_, 0, 5000, Access::kLocal | Access::kRemoteRead);
  ExpectSilentWriteRefused(region->remote(), 100);
}

TEST_F(ProtectionContract, SilentWriteEndsWithTheRegion) {
  auto region = Register(target_, 1000, 5000, Access::kAll);
  RemoteBuffer end = region->remote();
  end.address += 4999;
  ExpectSilentWriteRefused(end, 2);
}

TEST_F(ProtectionContract, ClosedRegionCannotBeWritten) {
  auto region = Register(target_, 0, 5000, Access::kAll);
  const RemoteBuffer gone = region->remote();
  region.reset();
  ExpectSilentWriteRefused(gone, 100);
}

}  // namespace
}  // namespace contract
