// A program whose network has no rendezvous.

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

std::string FreshNetwork() {
  std::random_device device;
  std::string host = "127";
  for (int i = 0; i < 3; ++i) host += "." + std::to_string(1 + device() % 254);
  return "tcp://" + host + ":7472";
}

TEST(NoRendezvousTest, AllNicsTogetherWaitAsLongAsOne) {
  setenv("DRYDOCK_EFA_NETWORK", FreshNetwork().c_str(), 1);
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  ASSERT_NE(devices, nullptr);
  EXPECT_EQ(count, 4);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(ibv_open_device(devices[0]), nullptr);
  const auto first = std::chrono::steady_clock::now() - begun;
  EXPECT_GT(first, std::chrono::seconds(2)) << "it was not given time to begin";
  for (int i = 1; i < count; ++i) EXPECT_EQ(ibv_open_device(devices[i]), nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2 * first);
  ibv_free_device_list(devices);
}

}  // namespace
}  // namespace drydock::sim_testing
