// GoogleMock doubles of the contract, one class per interface, no logic: expectations say what each
// call returns. For a fabric that works, use the simulator instead (see testing/README.md).

#ifndef DRYDOCK_TESTING_MOCKS_MOCK_FABRIC_H_
#define DRYDOCK_TESTING_MOCKS_MOCK_FABRIC_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"
#include "gmock/gmock.h"

namespace drydock::fabric {

class MockMemoryRegion : public MemoryRegion {
 public:
  MockMemoryRegion();
  ~MockMemoryRegion() override;

  MOCK_METHOD(std::byte*, data, (), (const, override));
  MOCK_METHOD(std::size_t, length_bytes, (), (const, override));
  MOCK_METHOD(Access, access, (), (const, override));
  MOCK_METHOD(std::uint64_t, local_key, (), (const, override));
  MOCK_METHOD(RemoteBuffer, remote, (), (const, override));
  MOCK_METHOD(absl::Status, Close, (), (override));
  MOCK_METHOD(void*, QueryPower, (const PowerId&), (override));
};

class MockCompletionQueue : public CompletionQueue {
 public:
  MockCompletionQueue();
  ~MockCompletionQueue() override;

  MOCK_METHOD(ReadResult, Read, (std::span<Completion>), (override));
  MOCK_METHOD(std::string, ErrorText, (const Completion&), (override));
  MOCK_METHOD(std::size_t, depth, (), (const, override));
  MOCK_METHOD(absl::Status, Close, (), (override));
  MOCK_METHOD(void*, QueryPower, (const PowerId&), (override));
};

class MockAddressVector : public AddressVector {
 public:
  MockAddressVector();
  ~MockAddressVector() override;

  MOCK_METHOD(absl::StatusOr<Peer>, Insert, (const Address&), (override));
  MOCK_METHOD(absl::Status, Remove, (Peer), (override));
  MOCK_METHOD(absl::StatusOr<Address>, Lookup, (Peer), (const, override));
  MOCK_METHOD(absl::Status, Close, (), (override));
  MOCK_METHOD(void*, QueryPower, (const PowerId&), (override));
};

class MockCounter : public Counter {
 public:
  MockCounter();
  ~MockCounter() override;

  MOCK_METHOD(std::uint64_t, Read, (), (override));
  MOCK_METHOD(std::uint64_t, ReadErrors, (), (override));
  MOCK_METHOD(absl::Status, Set, (std::uint64_t), (override));
  MOCK_METHOD(absl::Status, Add, (std::uint64_t), (override));
  MOCK_METHOD(absl::Status, Close, (), (override));
  MOCK_METHOD(void*, QueryPower, (const PowerId&), (override));
};

class MockEndpoint : public Endpoint {
 public:
  MockEndpoint();
  ~MockEndpoint() override;

  using Endpoint::Read;
  using Endpoint::Recv;
  using Endpoint::Send;
  using Endpoint::Write;

  MOCK_METHOD(PostResult, Send, (std::span<const SendRequest>), (override));
  MOCK_METHOD(PostResult, Recv, (std::span<const RecvRequest>), (override));
  MOCK_METHOD(PostResult, Write, (std::span<const WriteRequest>), (override));
  MOCK_METHOD(PostResult, Read, (std::span<const ReadRequest>), (override));
  MOCK_METHOD(const Limits&, limits, (), (const, override));
  MOCK_METHOD(Address, address, (), (const, override));
  MOCK_METHOD(absl::Status, Close, (), (override));
  MOCK_METHOD(void*, QueryPower, (const PowerId&), (override));
};

class MockDomain : public Domain {
 public:
  MockDomain();
  ~MockDomain() override;

  MOCK_METHOD(const NicInfo&, nic, (), (const, override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<MemoryRegion>>, RegisterMemory, (const MemoryRequest&),
              (override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<CompletionQueue>>, OpenCompletionQueue,
              (const CompletionQueueOptions&), (override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<AddressVector>>, OpenAddressVector, (), (override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<Counter>>, OpenCounter, (), (override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<Endpoint>>, OpenEndpoint, (const EndpointOptions&),
              (override));
  MOCK_METHOD(absl::Status, Close, (), (override));
  MOCK_METHOD(void*, QueryPower, (const PowerId&), (override));
};

class MockFabric : public Fabric {
 public:
  MockFabric();
  ~MockFabric() override;

  MOCK_METHOD(std::string_view, description, (), (const, override));
  MOCK_METHOD(std::span<const NicInfo>, nics, (), (const, override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<Domain>>, OpenDomain, (std::size_t), (override));
  MOCK_METHOD(void*, QueryPower, (const PowerId&), (override));
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_TESTING_MOCKS_MOCK_FABRIC_H_
