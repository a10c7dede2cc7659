// Address handles: whom they can name, and how many there are.

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/many_objects.h"
#include "drydock/sim/verbs/testing/other_machine.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

// What a program says to reach this GID.
ibv_ah_attr HandleAttr(const ibv_gid& gid) {
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.dgid = gid;
  return attr;
}

class AddressHandleTest : public ::testing::Test {
 protected:
  // The errno of an address handle that is refused; 0 of one that is not.
  int Addressing(const ibv_gid& gid) {
    ibv_ah_attr attr = HandleAttr(gid);
    ibv_ah* handle = ibv_create_ah(end_.domain, &attr);
    if (handle == nullptr) return errno;
    EXPECT_EQ(ibv_destroy_ah(handle), 0);
    return 0;
  }

  End end_{{.ready = false}};
};

TEST_F(AddressHandleTest, AddressHandles) {
  ibv_ah_attr attr = HandleAttr(end_.gid);
  ibv_ah* one = ibv_create_ah(end_.domain, &attr);
  ibv_ah* same = ibv_create_ah(end_.domain, &attr);
  const auto another = Join();
  attr.grh.dgid = GidOf(*another);
  ibv_ah* other = ibv_create_ah(end_.domain, &attr);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(same, nullptr);
  ASSERT_NE(other, nullptr);
  // The device has one for each GID of a domain.
  EXPECT_EQ(End::NumberOf(one), End::NumberOf(same));
  EXPECT_NE(End::NumberOf(one), End::NumberOf(other));
  for (ibv_ah* handle : {one, same, other}) EXPECT_EQ(ibv_destroy_ah(handle), 0);

  attr.grh.dgid = end_.gid;
  attr.is_global = 0;
  errno = 0;
  EXPECT_EQ(ibv_create_ah(end_.domain, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attr.is_global = 1;
  attr.port_num = 2;
  errno = 0;
  EXPECT_EQ(ibv_create_ah(end_.domain, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attr.port_num = 1;
  attr.grh.sgid_index = 1;  // a NIC has one GID
  errno = 0;
  EXPECT_EQ(ibv_create_ah(end_.domain, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(AddressHandleTest, AHandleOfNobodyIsRefused) {
  EXPECT_EQ(Addressing(end_.gid), 0);
  ibv_gid nobody = end_.gid;
  nobody.raw[15] = 0xff;  // no NIC of this machine
  EXPECT_EQ(Addressing(nobody), EINVAL);
  nobody = end_.gid;
  nobody.raw[14] = 0xfe;  // a machine that never was
  EXPECT_EQ(Addressing(nobody), EINVAL);
  nobody = end_.gid;
  nobody.raw[8] ^= 1;  // another network
  EXPECT_EQ(Addressing(nobody), EINVAL);
  EXPECT_EQ(Addressing(ibv_gid{}), EINVAL);
  // One that was there has its GID still.
  auto machine = Join();
  const ibv_gid gone = GidOf(*machine);
  machine.reset();
  EXPECT_EQ(Addressing(gone), 0);
}

TEST_F(AddressHandleTest, AHandleInAnotherAvailabilityZoneIsRefused) {
  auto machine = Join(/*zone=*/1);
  const ibv_gid gid = GidOf(*machine);
  EXPECT_EQ(Addressing(gid), EINVAL);
  // Its successor, with its GID, may be in our zone.
  machine.reset();
  machine = Join();
  const ibv_gid successor = GidOf(*machine);
  ASSERT_EQ(std::memcmp(gid.raw, successor.raw, sizeof gid.raw), 0);
  EXPECT_EQ(Addressing(successor), 0);
}

TEST_F(AddressHandleTest, TheNumberOfAHandle) {
  ibv_ah* handle = end_.HandleOf(end_);
  constexpr std::uint32_t kShortest = offsetof(efadv_ah_attr, reserved);
  for (std::uint32_t length = 0; length <= sizeof(efadv_ah_attr) + 8; ++length) {
    std::array<std::uint8_t, sizeof(efadv_ah_attr) + 16> bytes;
    bytes.fill(0xee);
    auto* attr = reinterpret_cast<efadv_ah_attr*>(bytes.data());
    const int error = efadv_query_ah(handle, attr, length);
    EXPECT_EQ(error, length < kShortest ? EINVAL : 0) << length;
    EXPECT_TRUE(std::all_of(bytes.begin() + length, bytes.end(), [](int b) { return b == 0xee; }));
    if (error == 0) {
      EXPECT_EQ(attr->comp_mask, 0u);
      EXPECT_EQ(attr->ahn, End::NumberOf(handle));
    }
  }
}

// One in each domain for each NIC of two machines, until there are no more.
TEST_F(AddressHandleTest, AllAddressHandles) {
  const std::size_t nics = ProfileInUse().nics.size();
  std::vector<ibv_gid> machines{end_.gid};
  std::vector<decltype(Join())> others;
  while (machines.size() * nics * Device().max_pd <= Device().max_ah) {
    others.push_back(Join());
    machines.push_back(GidOf(*others.back()));
  }
  std::vector<ibv_gid> gids;
  for (const ibv_gid& machine : machines) {
    for (std::size_t nic = 0; nic < nics; ++nic) {
      gids.push_back(machine);
      gids.back().raw[15] = static_cast<std::uint8_t>(nic);
    }
  }
  std::vector<ibv_pd*> domains{end_.domain};
  while (domains.size() < Device().max_pd) domains.push_back(ibv_alloc_pd(end_.context));
  std::size_t next = 0;
  const std::size_t made = MakeMany<ibv_ah>(
      Device().max_ah + 1,
      [&] {
        ibv_ah_attr attr = HandleAttr(gids.at(next / domains.size()));
        return ibv_create_ah(domains[next++ % domains.size()], &attr);
      },
      ibv_destroy_ah);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_ah);
  for (std::size_t i = 1; i < domains.size(); ++i) EXPECT_EQ(ibv_dealloc_pd(domains[i]), 0);
}

}  // namespace
}  // namespace drydock::sim_testing
