// Counters of the NIC in memory of the program's: the provider efa's own way to open them, since
// libfabric 2.6 (FI_EFA_GDA_OPS, cntr_open_ext; fi_efa(7)). The headers of the machine may be older,
// so that names and layouts of ofiwg/libfabric prov/efa/src/fi_ext_efa.h are here.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_EFA_COUNTER_H_
#define DRYDOCK_FABRIC_LIBFABRIC_EFA_COUNTER_H_

#include <rdma/fi_domain.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "drydock/fabric/counter_memory.h"
#include "drydock/fabric/libfabric/api.h"

namespace drydock::fabric::libfabric {

inline constexpr char kGdaOps[] = "efa gda ops";

// fi_efa_memory_location.
struct EfaMemoryLocation {
  std::uint8_t* ptr;
  struct {
    std::uint64_t offset;
    std::int32_t fd;
    std::uint32_t reserved;
  } dmabuf;
  std::uint8_t type;
  std::uint8_t reserved[7];
};
inline constexpr std::uint8_t kAtAddress = 0;
inline constexpr std::uint8_t kInDmabuf = 1;

// fi_efa_comp_cntr_init_attr.
struct EfaCounterInit {
  std::uint64_t comp_mask;
  std::uint32_t flags;
  std::uint32_t reserved;
  EfaMemoryLocation comp_cntr_ext_mem;
  EfaMemoryLocation err_cntr_ext_mem;
};
static_assert(sizeof(EfaCounterInit) == 80);
inline constexpr std::uint32_t kCompInExternalMemory = 1u << 0;
inline constexpr std::uint32_t kErrInExternalMemory = 1u << 1;

// fi_efa_ops_gda, as it is since libfabric 2.6: the earlier functions are others' (gpu/gda).
struct EfaGdaOps {
  void (*earlier[5])();
  int (*cntr_open_ext)(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter,
                       void* context, EfaCounterInit* init);
};

// The table of an open domain; null: this library or provider has none with counters.
EfaGdaOps* FindCounterOps(Api& api, fid_domain* domain);

// Where the numbers go, in the provider's words. kInvalidArgument: a word of less than 8 bytes, or
// not aligned to 8; kUnimplemented: device memory without a dmabuf.
absl::StatusOr<EfaCounterInit> Describe(const CounterMemory& memory);

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_EFA_COUNTER_H_
