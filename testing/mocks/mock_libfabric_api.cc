#include "testing/mocks/mock_libfabric_api.h"

namespace fabric::libfabric {

MockApi::MockApi() = default;
MockApi::~MockApi() = default;

}  // namespace fabric::libfabric
