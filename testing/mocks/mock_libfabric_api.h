// GoogleMock double of libfabric's control path (fabric/libfabric/api.h).

#ifndef DRYDOCK_TESTING_MOCKS_MOCK_LIBFABRIC_API_H_
#define DRYDOCK_TESTING_MOCKS_MOCK_LIBFABRIC_API_H_

#include <cstddef>
#include <cstdint>

#include "drydock/fabric/libfabric/api.h"
#include "gmock/gmock.h"

namespace drydock::fabric::libfabric {

class MockApi : public Api {
 public:
  MockApi();
  ~MockApi() override;

  MOCK_METHOD(std::uint32_t, Version, (), (const, override));
  MOCK_METHOD(int, GetInfo, (std::uint32_t, const fi_info*, fi_info**), (override));
  MOCK_METHOD(void, FreeInfo, (fi_info*), (override));
  MOCK_METHOD(int, OpenFabric, (fi_fabric_attr*, fid_fabric**), (override));
  MOCK_METHOD(int, OpenDomain, (fid_fabric*, fi_info*, fid_domain**), (override));
  MOCK_METHOD(int, OpenCompletionQueue, (fid_domain*, fi_cq_attr*, fid_cq**), (override));
  MOCK_METHOD(int, OpenAddressVector, (fid_domain*, fi_av_attr*, fid_av**), (override));
  MOCK_METHOD(int, OpenCounter, (fid_domain*, fi_cntr_attr*, fid_cntr**), (override));
  MOCK_METHOD(int, OpenOps, (fid*, const char*, void**), (override));
  MOCK_METHOD(int, OpenEventQueue, (fid_fabric*, fi_eq_attr*, fid_eq**), (override));
  MOCK_METHOD(int, OpenEndpoint, (fid_domain*, fi_info*, fid_ep**), (override));
  MOCK_METHOD(int, RegisterMemory, (fid_domain*, const fi_mr_attr*, std::uint64_t, fid_mr**),
              (override));
  MOCK_METHOD(int, Bind, (fid_ep*, fid*, std::uint64_t), (override));
  MOCK_METHOD(int, SetOption, (fid_ep*, int, std::size_t), (override));
  MOCK_METHOD(int, GetOption, (fid_ep*, int, std::size_t*), (override));
  MOCK_METHOD(int, Enable, (fid_ep*), (override));
  MOCK_METHOD(int, GetName, (fid*, void*, std::size_t*), (override));
  MOCK_METHOD(int, InsertAddress, (fid_av*, const void*, fi_addr_t*), (override));
  MOCK_METHOD(int, RemoveAddress, (fid_av*, fi_addr_t), (override));
  MOCK_METHOD(int, GetWaitDescriptor, (fid_cq*, int*), (override));
  MOCK_METHOD(int, TryWait, (fid_fabric*, fid*), (override));
  MOCK_METHOD(int, Close, (fid*), (override));
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_TESTING_MOCKS_MOCK_LIBFABRIC_API_H_
