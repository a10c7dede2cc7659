// What every Device does alike. A test binary instantiates it with the devices that it has:
//
//   INSTANTIATE_TEST_SUITE_P(Host, DeviceContract, testing::Values(DeviceUnderTest{"host", open}));

#ifndef DRYDOCK_TESTING_DEVICE_DEVICE_CONTRACT_H_
#define DRYDOCK_TESTING_DEVICE_DEVICE_CONTRACT_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/gpu/device_memory.h"
#include "gtest/gtest.h"

namespace drydock::gpu {

struct DeviceUnderTest {
  std::string name;
  std::function<absl::StatusOr<std::unique_ptr<Device>>()> open;
  Allocation allocation = Allocation::kPlain;

  friend std::ostream& operator<<(std::ostream& out, const DeviceUnderTest& device) {
    return out << device.name;
  }
};

class DeviceContract : public testing::TestWithParam<DeviceUnderTest> {
 protected:
  void SetUp() override;

  std::unique_ptr<DeviceMemory> Allocate(std::size_t length_bytes);
  std::unique_ptr<Stream> OpenStream();
  // The pattern of `seed`, made by the device and waited for.
  void Fill(const DeviceMemory& memory, std::uint64_t seed);
  std::uint64_t WrongWords(const DeviceMemory& memory, std::uint64_t seed);

  std::unique_ptr<Device> device_;
};

}  // namespace drydock::gpu

#endif  // DRYDOCK_TESTING_DEVICE_DEVICE_CONTRACT_H_
