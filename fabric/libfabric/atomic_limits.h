// How much an endpoint's atomic operations take, asked once when it is opened.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_ATOMIC_LIMITS_H_
#define DRYDOCK_FABRIC_LIBFABRIC_ATOMIC_LIMITS_H_

#include <rdma/fi_atomic.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "drydock/fabric/atomics.h"

namespace drydock::fabric::libfabric {

// The library's numbers for the contract's enums.
fi_op ToLibfabric(AtomicOperation operation);
fi_datatype ToLibfabric(AtomicType type);

// A table of fi_atomicvalid, fi_fetch_atomicvalid and fi_compare_atomicvalid for one endpoint, in
// bytes. 0: the provider refuses that operation on that type. Constant after construction.
class AtomicLimits {
 public:
  // `endpoint` is enabled and has FI_ATOMIC.
  explicit AtomicLimits(fid_ep* endpoint);

  // As Atomics::MaxAtomicBytes.
  std::size_t Most(AtomicOperation operation, AtomicType type, bool fetching) const {
    return most_[Index(operation, type, fetching)];
  }

 private:
  static constexpr std::size_t kOperations =
      static_cast<std::size_t>(AtomicOperation::kCompareSwap) + 1;
  static constexpr std::size_t kTypes = static_cast<std::size_t>(AtomicType::kDouble) + 1;

  static std::size_t Index(AtomicOperation operation, AtomicType type, bool fetching) {
    return (static_cast<std::size_t>(operation) * kTypes + static_cast<std::size_t>(type)) * 2 +
           (fetching ? 1 : 0);
  }

  std::array<std::size_t, kOperations * kTypes * 2> most_{};
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_ATOMIC_LIMITS_H_
