#include "drydock/testing/mocks/mock_libfabric_api.h"

namespace drydock::fabric::libfabric {

MockApi::MockApi() = default;
MockApi::~MockApi() = default;

}  // namespace drydock::fabric::libfabric
