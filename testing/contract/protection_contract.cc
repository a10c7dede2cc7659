// The target's registrations protect its memory against reads, and against writes that it would
// never hear of.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Access;
using fabric::Capability;
using fabric::ErrorCode;
using fabric::RemoteBuffer;

class ProtectionContract : public ContractTest {
 protected:
  static constexpr std::uint64_t kRefused = 1000;

  // Reads from a place where a target that protects its memory must refuse: not one byte may be
  // told. Where initiators reach into the memory by themselves, they get the bytes that lie there.
  void ExpectReadRefused(RemoteBuffer from, std::size_t length) {
    Fill(target_.memory, 9);
    std::fill(initiator_.memory.begin(), initiator_.memory.end(), std::byte{0});
    const ErrorCode posted = Read(0, length, from, kRefused);
    if (Has(Trait::kReadProtection)) {
      ExpectRefusal(posted);
      EXPECT_TRUE(Untouched(initiator_.memory));
    } else {
      EXPECT_TRUE(Take(initiator_, kRefused).ok());
      EXPECT_TRUE(std::equal(initiator_.memory.begin(), initiator_.memory.begin() + length,
                             target_.memory.begin() + OffsetOf(from)));
    }
  }

  // The same for writes without an immediate.
  void ExpectSilentWriteRefused(RemoteBuffer to, std::size_t length) {
    Fill(Bytes(initiator_, 0, length), 9);
    const ErrorCode posted = Write(0, length, to, kRefused);
    if (Has(Trait::kSilentWriteProtection)) {
      ExpectRefusal(posted);
      EXPECT_TRUE(Untouched(target_.memory));
    } else {
      EXPECT_TRUE(Take(initiator_, kRefused).ok());
      EXPECT_TRUE(Holds(Bytes(target_, OffsetOf(to), length), 9));
    }
  }

  RemoteBuffer GuessedKey() const {
    RemoteBuffer guess = target_.Remote(0);
    guess.key ^= 0x155;
    return guess;
  }

  // A range that wraps around the end of the address space may be refused when it is posted: where
  // a region begins at 0, those before it do.
  void ExpectRefusal(ErrorCode posted) {
    if (posted != ErrorCode::kOk) {
      EXPECT_EQ(posted, ErrorCode::kRemoteAccess);
    } else if (Has(Trait::kRemoteErrors)) {
      EXPECT_EQ(Take(initiator_, kRefused).error, ErrorCode::kRemoteAccess);
    }
    PumpQuietly();
    EXPECT_TRUE(target_.completions.empty());
    initiator_.completions.clear();
  }

 private:
  std::size_t OffsetOf(RemoteBuffer place) const {
    return static_cast<std::size_t>(place.address - target_.Remote(0).address);
  }
};

TEST_F(ProtectionContract, ReadNeedsTheKey) {
  ExpectReadRefused(GuessedKey(), 100);
  ExpectReadRefused(GuessedKey(), 50000);
}

TEST_F(ProtectionContract, ReadNeedsTheRightToRead) {
  constexpr Access kNothingThatIsRead = Access::kReceive | Access::kRead | Access::kRemoteWrite;
  auto region = Register(target_, 0, 5000, kNothingThatIsRead);
  ExpectReadRefused(region->remote(), 100);
}

// EFA and rxm let a peer read what may be sent, because that is how they move long messages
// (ofiwg/libfabric prov/efa/src/efa_mr.c, prov/rxm/src/rxm_domain.c): there, Access::kSend is a
// right to read.
TEST_F(ProtectionContract, RightToSendIsNoRightToReadWherePromised) {
  auto region = Register(target_, 0, 5000, Access::kLocal | Access::kRemoteWrite);
  if (Has(Capability::kReadRights) || !Has(Trait::kReadProtection)) {
    ExpectReadRefused(region->remote(), 100);
  } else {
    Fill(target_.memory, 9);
    ASSERT_EQ(Read(0, 100, region->remote(), 1), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, 1).ok());
    EXPECT_TRUE(Holds(Bytes(initiator_, 0, 100), 9));
  }
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
  Fill(target_.memory, 9);
  ExpectRefusal(Read(0, 100, high, kRefused));
  EXPECT_TRUE(Untouched(initiator_.memory));
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
}  // namespace drydock::contract
