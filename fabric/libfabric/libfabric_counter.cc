#include <rdma/fi_eq.h>

#include "drydock/fabric/libfabric/errno_mapping.h"
#include "drydock/fabric/libfabric/libfabric_domain.h"
#include "drydock/fabric/shared_core.h"

namespace drydock::fabric::libfabric {

std::uint64_t LibfabricCounter::Read() {
  return core_ == nullptr ? 0 : fi_cntr_read(core_->counter.get());
}

std::uint64_t LibfabricCounter::ReadErrors() {
  return core_ == nullptr ? 0 : fi_cntr_readerr(core_->counter.get());
}

absl::Status LibfabricCounter::Set(std::uint64_t value) {
  if (core_ == nullptr) return ClosedError("counter");
  const int result = fi_cntr_set(core_->counter.get(), value);
  return result == 0 ? absl::OkStatus() : ControlError(result, "set counter: fi_cntr_set");
}

absl::Status LibfabricCounter::Add(std::uint64_t value) {
  if (core_ == nullptr) return ClosedError("counter");
  const int result = fi_cntr_add(core_->counter.get(), value);
  return result == 0 ? absl::OkStatus() : ControlError(result, "add to counter: fi_cntr_add");
}

absl::Status LibfabricCounter::Close() { return CloseShared(core_, "counter"); }

}  // namespace drydock::fabric::libfabric
