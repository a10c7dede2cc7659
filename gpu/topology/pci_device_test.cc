#include "drydock/gpu/topology/pci_device.h"

#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::topology {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

PciIdentity Identity(const char* type) { return ParsePciType(type).value(); }

TEST(PciDeviceTest, AddressesCountInTheirOrder) {
  EXPECT_THAT(ParsePciAddress("0000:4f:1b.7"), IsOkAndHolds(PciAddress(0, 0x4f, 0x1b, 7)));
  EXPECT_LT(*ParsePciAddress("0000:9f:00.0"), *ParsePciAddress("0000:a0:00.0"));
  EXPECT_LT(*ParsePciAddress("ffff:9f:00.0"), *ParsePciAddress("10000:01:00.0"));
}

TEST(PciDeviceTest, WhatIsNoAddressOrTypeIsRefused) {
  for (const char* text : {"", "4f:00.0", "0000:4f:20.0", "0000:4f:00.8", "0000:1ff:00.0",
                           "0000:-4:00.0", "0000:4f:00.0.0", "zzzz:4f:00.0"}) {
    EXPECT_THAT(ParsePciAddress(text), StatusIs(kInvalid)) << text;
  }
  for (const char* text : {"", "0302", "0302 10de:2330", "0302 [10de]", "10302 [10de:2330]"}) {
    EXPECT_THAT(ParsePciType(text), StatusIs(kInvalid)) << text;
  }
}

TEST(PciDeviceTest, TypeIsClassVendorAndDevice) {
  const PciIdentity h100 = Identity("0302 [10de:2330] [10de:16c1] a1");
  EXPECT_EQ(FormatPciClass(h100), "0302");
  EXPECT_EQ(FormatVendorDeviceId(h100), "10de:2330");
}

TEST(PciDeviceTest, GpusAreWhatComputes) {
  for (const char* type : {"0302 [10de:2330]", "0300 [10de:2204]", "0380 [1002:740f]",
                           "1200 [1da3:1020]", "0880 [1d0f:7364]"}) {
    EXPECT_TRUE(IsGpu(Identity(type))) << type;
  }
  // Amazon's and QEMU's emulated display, servers', and an NVSwitch.
  for (const char* type : {"0300 [1d0f:1111]", "0300 [1234:1111]", "0300 [1a03:2000]",
                           "0300 [1002:515e]", "0680 [10de:22a3]", "0200 [1d0f:efa1]"}) {
    EXPECT_FALSE(IsGpu(Identity(type))) << type;
  }
}

TEST(PciDeviceTest, EfaIsAmazons) {
  EXPECT_TRUE(IsEfaNic(Identity("0200 [1d0f:efa3]")));
  EXPECT_FALSE(IsEfaNic(Identity("0200 [15b3:efa3]")));
  EXPECT_FALSE(IsEfaNic(Identity("0207 [15b3:1021]")));
}

TEST(PciDeviceTest, RdmaNicsAreEfaAndInfiniBand) {
  for (const char* type : {"0200 [1d0f:efa0]", "0200 [1d0f:efa4]", "0207 [15b3:1021]"}) {
    EXPECT_TRUE(IsRdmaNic(Identity(type))) << type;
  }
  for (const char* type : {"0200 [1d0f:ec20]", "0200 [15b3:1021]", "0108 [1d0f:cd01]"}) {
    EXPECT_FALSE(IsRdmaNic(Identity(type))) << type;
  }
}

}  // namespace
}  // namespace drydock::gpu::topology
