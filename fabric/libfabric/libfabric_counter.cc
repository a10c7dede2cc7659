#include <rdma/fi_eq.h>

#include "fabric/libfabric/errno_mapping.h"
#include "fabric/libfabric/libfabric_domain.h"
#include "fabric/shared_core.h"

namespace fabric::libfabric {

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

}  // namespace fabric::libfabric
