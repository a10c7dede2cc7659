#include "drydock/testing/mocks/mock_fabric.h"

// Here, and not in the header: a mock's constructor and destructor are what makes it slow to
// compile.
namespace drydock::fabric {

MockMemoryRegion::MockMemoryRegion() = default;
MockMemoryRegion::~MockMemoryRegion() = default;
MockCompletionQueue::MockCompletionQueue() = default;
MockCompletionQueue::~MockCompletionQueue() = default;
MockAddressVector::MockAddressVector() = default;
MockAddressVector::~MockAddressVector() = default;
MockCounter::MockCounter() = default;
MockCounter::~MockCounter() = default;
MockEndpoint::MockEndpoint() = default;
MockEndpoint::~MockEndpoint() = default;
MockDomain::MockDomain() = default;
MockDomain::~MockDomain() = default;
MockFabric::MockFabric() = default;
MockFabric::~MockFabric() = default;

}  // namespace drydock::fabric
