#include "drydock/fabric/libfabric/shm_name.h"

#include <rdma/fabric.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::libfabric {
namespace {

using ::testing::MatchesRegex;

using Info = std::unique_ptr<fi_info, decltype(&fi_freeinfo)>;

Info MakeInfo(const char* provider, const char* address) {
  Info info(fi_allocinfo(), &fi_freeinfo);
  info->fabric_attr->prov_name = strdup(provider);
  info->src_addr = strdup(address);
  info->src_addrlen = std::strlen(address) + 1;
  return info;
}

std::string AddressOf(const fi_info& info) {
  return {static_cast<const char*>(info.src_addr), info.src_addrlen};
}

TEST(ShmNameTest, NameHasTheProcessAndMore) {
  const Info info = MakeInfo("shm", "fi_shm://17");
  NameSharedMemory(info.get());
  const std::string address = AddressOf(*info);
  EXPECT_THAT(address.c_str(),
              MatchesRegex("fi_shm://" + std::to_string(getpid()) + "-[0-9a-f]{16}"));
  EXPECT_EQ(address.size(), std::strlen(address.c_str()) + 1);
}

TEST(ShmNameTest, EveryEntryOfAProcessHasTheSameName) {
  const Info first = MakeInfo("shm", "fi_shm://17");
  first->next = MakeInfo("shm", "fi_shm://18").release();
  const Info later = MakeInfo("shm", "");
  NameSharedMemory(first.get());
  NameSharedMemory(later.get());
  EXPECT_EQ(AddressOf(*first), AddressOf(*first->next));
  EXPECT_EQ(AddressOf(*first), AddressOf(*later));
}

TEST(ShmNameTest, OtherProvidersKeepTheirs) {
  const Info info = MakeInfo("tcp", "socket");
  info->next = MakeInfo("shm", "fi_shm://17").release();
  info->next->next = MakeInfo("shmem", "fi_shm://17").release();
  NameSharedMemory(info.get());
  EXPECT_STREQ(AddressOf(*info).c_str(), "socket");
  EXPECT_STRNE(AddressOf(*info->next).c_str(), "fi_shm://17");
  EXPECT_STREQ(AddressOf(*info->next->next).c_str(), "fi_shm://17");
}

}  // namespace
}  // namespace drydock::fabric::libfabric
