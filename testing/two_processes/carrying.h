// Serialisation of values that are not plain bytes, between two processes: statuses, texts, lists.

#ifndef DRYDOCK_TESTING_TWO_PROCESSES_CARRYING_H_
#define DRYDOCK_TESTING_TWO_PROCESSES_CARRYING_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/nic_info.h"
#include "drydock/testing/two_processes/other_process.h"

namespace drydock::two_processes {

// A text; cut off where it is longer.
struct Text {
  char bytes[512] = {};
  std::size_t length = 0;

  Text() = default;
  explicit Text(std::string_view text) : length(std::min(text.size(), sizeof(bytes))) {
    std::memcpy(bytes, text.data(), length);
  }
  operator std::string() const { return std::string(bytes, length); }
};

struct FarStatus {
  absl::StatusCode code = absl::StatusCode::kOk;
  Text message;

  FarStatus() = default;
  explicit FarStatus(const absl::Status& status)
      : code(status.code()), message({status.message().data(), status.message().size()}) {}
  absl::Status Here() const { return absl::Status(code, std::string(message)); }
};

// What a call over there returned, or made.
template <typename T>
struct FarResult {
  FarStatus status;
  T value{};
};

template <typename T>
FarResult<T*> Keep(absl::StatusOr<std::unique_ptr<T>> made) {
  if (!made.ok()) return {FarStatus(made.status()), nullptr};
  return {FarStatus(), std::move(made)->release()};
}

template <typename T>
FarResult<T> Copy(const absl::StatusOr<T>& result) {
  if (!result.ok()) return {FarStatus(result.status()), T{}};
  return {FarStatus(), *result};
}

template <typename T>
absl::StatusOr<T> Here(const FarResult<T>& result) {
  if (result.status.code != absl::StatusCode::kOk) return result.status.Here();
  return result.value;
}

struct FarNicInfo {
  Text name, domain, provider, fabric, pci_address, vendor_device_id, address_format;
  int numa_node = -1;
  double link_gbps = 0;
  fabric::LinkState link_state = fabric::LinkState::kUnknown;
  fabric::Limits limits;
  fabric::CapabilitySet capabilities;

  FarNicInfo() = default;
  explicit FarNicInfo(const fabric::NicInfo& nic)
      : name(nic.name),
        domain(nic.domain),
        provider(nic.provider),
        fabric(nic.fabric),
        pci_address(nic.pci_address),
        vendor_device_id(nic.vendor_device_id),
        address_format(nic.address_format),
        numa_node(nic.numa_node),
        link_gbps(nic.link_gbps),
        link_state(nic.link_state),
        limits(nic.limits),
        capabilities(nic.capabilities) {}
  fabric::NicInfo Here() const {
    return {.name = name,
            .domain = domain,
            .provider = provider,
            .fabric = fabric,
            .pci_address = pci_address,
            .vendor_device_id = vendor_device_id,
            .address_format = address_format,
            .numa_node = numa_node,
            .link_gbps = link_gbps,
            .link_state = link_state,
            .limits = limits,
            .capabilities = capabilities};
  }
};

// A list that both processes see while this lives.
template <typename T>
class SharedList {
 public:
  SharedList(OtherProcess& process, std::size_t count)
      : memory_(process.shared()), items_(Allocate(count), count) {}
  SharedList(OtherProcess& process, std::span<const T> items) : SharedList(process, items.size()) {
    std::copy(items.begin(), items.end(), items_.begin());
  }
  ~SharedList() { memory_.deallocate(items_.data(), items_.size_bytes(), alignof(T)); }
  SharedList(const SharedList&) = delete;
  SharedList& operator=(const SharedList&) = delete;

  std::span<T> items() const { return items_; }

 private:
  T* Allocate(std::size_t count) {
    T* items = static_cast<T*>(memory_.allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(items, count);
    return items;
  }

  std::pmr::memory_resource& memory_;
  std::span<T> items_;
};

}  // namespace drydock::two_processes

#endif  // DRYDOCK_TESTING_TWO_PROCESSES_CARRYING_H_
