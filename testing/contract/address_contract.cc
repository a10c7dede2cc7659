// Addresses, which peers exchange to find each other.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Address;
using fabric::Context;
using fabric::ErrorCode;
using fabric::Peer;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

class AddressContract : public ContractTest {
 protected:
  // A message from the initiator to `peer`, which is the target, arrives.
  void ExpectReaches(Peer peer) {
    fabric::SendRequest request = SendOf(0, 8, Context{1});
    request.peer = peer;
    ASSERT_EQ(Recv(0, 8, 2), ErrorCode::kOk);
    ASSERT_EQ(Post([&] { return initiator_.endpoint->Send(request); }), ErrorCode::kOk);
    EXPECT_TRUE(Take(target_, 2).ok());
    EXPECT_TRUE(Take(initiator_, 1).ok());
  }
};

// Peers send each other the hexadecimal form.
TEST_F(AddressContract, HexFormNamesTheSameEndpoint) {
  const std::string hex = target_.endpoint->address().ToHex();
  ASSERT_OK_AND_ASSIGN(const Address parsed, Address::Parse(hex));
  EXPECT_EQ(parsed, target_.endpoint->address());
  ASSERT_OK_AND_ASSIGN(const Peer peer, initiator_.peers->Insert(parsed));
  ExpectReaches(peer);
}

TEST_F(AddressContract, EveryEndpointHasItsOwnAddress) {
  OpenThird();
  auto another = OpenAnother(target_);
  std::set<std::string> addresses;
  for (const auto* endpoint :
       {initiator_.endpoint.get(), target_.endpoint.get(), third_.endpoint.get(), another.get()}) {
    addresses.insert(endpoint->address().ToHex());
  }
  EXPECT_EQ(addresses.size(), 4u);
}

TEST_F(AddressContract, LengthIsTheOneThatTheLimitsTell) {
  const std::size_t told = limits().address_bytes;
  const std::size_t length = target_.endpoint->address().size();
  EXPECT_EQ(length, told == 0 ? length : told);
  EXPECT_GT(length, 0u);
}

TEST_F(AddressContract, LookupReturnsWhatWasInserted) {
  ASSERT_OK_AND_ASSIGN(const Address found, initiator_.peers->Lookup(initiator_.peer));
  EXPECT_EQ(found.ToHex(), target_.endpoint->address().ToHex());
}

// Of every byte that names an endpoint: those behind an EFA address mean something inside one
// process only (ofiwg/libfabric prov/efa/src/efa.h), and may come back as they like.
TEST_F(AddressContract, LookupReturnsEveryByteOfTheName) {
  const Address address = target_.endpoint->address();
  const auto good = address.bytes();
  const bool efa = initiator_.domain->nic().address_format == "FI_ADDR_EFA";
  const std::size_t named = efa ? 24 : good.size();
  std::vector<std::uint8_t> bytes(good.begin(), good.end());
  bytes[efa ? 20 : 2] ^= 1;  // EFA: the qkey; a socket: the port; a name: a letter
  ASSERT_OK_AND_ASSIGN(const Address other, Address::FromBytes(bytes));
  ASSERT_OK_AND_ASSIGN(const Peer peer, initiator_.peers->Insert(other));
  ASSERT_OK_AND_ASSIGN(const Address found, initiator_.peers->Lookup(peer));
  ASSERT_EQ(found.size(), good.size());
  EXPECT_EQ(found.ToHex().substr(0, 2 * named), other.ToHex().substr(0, 2 * named));
  EXPECT_NE(found.ToHex(), target_.endpoint->address().ToHex());
}

TEST_F(AddressContract, AddressInsertedTwiceIsOnePeer) {
  ASSERT_OK_AND_ASSIGN(const Peer again, initiator_.peers->Insert(target_.endpoint->address()));
  EXPECT_EQ(again, initiator_.peer);
  ExpectReaches(again);
}

// The bytes behind an EFA address are nobody's business: a peer that sends others must not make a
// stranger of one that the program knows.
TEST_F(AddressContract, BytesBehindTheNameMakeNoOtherPeer) {
  const Address address = target_.endpoint->address();
  const auto good = address.bytes();
  std::vector<std::uint8_t> bytes(good.begin(), good.end());
  if (initiator_.domain->nic().address_format == "FI_ADDR_EFA") bytes.back() ^= 1;
  ASSERT_OK_AND_ASSIGN(const Address other, Address::FromBytes(bytes));
  ASSERT_OK_AND_ASSIGN(const Peer again, initiator_.peers->Insert(other));
  EXPECT_EQ(again, initiator_.peer);
  ExpectReaches(initiator_.peer);
}

// Insertions are not counted.
TEST_F(AddressContract, OneRemovalForgetsAnAddressInsertedTwice) {
  ASSERT_OK_AND_ASSIGN(const Peer again, initiator_.peers->Insert(target_.endpoint->address()));
  EXPECT_THAT(initiator_.peers->Remove(again), IsOk());
  EXPECT_THAT(initiator_.peers->Lookup(again), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(initiator_.peers->Remove(again), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(initiator_.endpoint->Send(SendOf(0, 8, Context{1})), ErrorCode::kUnknownPeer);
  ASSERT_OK_AND_ASSIGN(initiator_.peer, initiator_.peers->Insert(target_.endpoint->address()));
  EXPECT_NE(initiator_.peer, again);
  ExpectReaches(initiator_.peer);
}

TEST_F(AddressContract, EmptyAddressIsRefused) {
  EXPECT_THAT(initiator_.peers->Insert(Address()), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(AddressContract, AddressOfAnotherFabricIsRefused) {
  const Address address = target_.endpoint->address();
  const auto good = address.bytes();
  std::vector<std::uint8_t> bytes(good.begin(), good.end());
  bytes.back() = 'x';  // a name must end
  bytes.push_back('x');
  ASSERT_OK_AND_ASSIGN(const Address longer, Address::FromBytes(bytes));
  EXPECT_THAT(initiator_.peers->Insert(longer), StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK_AND_ASSIGN(const Address shorter, Address::FromBytes(good.first(1)));
  EXPECT_THAT(initiator_.peers->Insert(shorter), StatusIs(absl::StatusCode::kInvalidArgument));
  ExpectReaches(initiator_.peer);
}

// Bytes from an untrusted peer: refused, or an address like any other, but no harm done.
TEST_F(AddressContract, GarbageAddressDoesNoHarm) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Address address = target_.endpoint->address();
    const auto good = address.bytes();
    std::vector<std::uint8_t> bytes(good.begin(), good.end());
    for (std::size_t i = seed % 4; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(bytes[i] * seed + 37 * i + seed);
    }
    if (seed % 2 == 0) bytes.back() = 0;
    ASSERT_OK_AND_ASSIGN(const Address garbage, Address::FromBytes(bytes));
    const absl::StatusOr<Peer> peer = initiator_.peers->Insert(garbage);
    if (peer.ok()) {
      EXPECT_THAT(initiator_.peers->Lookup(*peer), IsOk());
      EXPECT_THAT(initiator_.peers->Remove(*peer), IsOk());
    } else {
      EXPECT_THAT(peer, StatusIs(absl::StatusCode::kInvalidArgument));
    }
  }
  ExpectReaches(initiator_.peer);
}

}  // namespace
}  // namespace drydock::contract
