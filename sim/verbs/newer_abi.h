// Additions of later releases of rdma-core to the interface of libefa, for programs that were built
// against them: the headers of the machine may be older. Names and layouts as in
// linux-rdma/rdma-core providers/efa/man (efadv_create_cq, efadv_query_cq, efadv_query_qp_wqs,
// efadv_query_mr, efadv_get_max_sq_depth, efadv_create_comp_cntr), providers/efa/efadv.h, and
// libibverbs/man (ibv_create_comp_cntr, ibv_qp_attach_comp_cntr, ibv_query_comp_cntr_caps).
//
// The length that a caller passes tells the version of a structure that has grown: bytes beyond it
// are neither read nor written. A caller's bytes beyond the structures here have to be zero.

#ifndef DRYDOCK_SIM_VERBS_NEWER_ABI_H_
#define DRYDOCK_SIM_VERBS_NEWER_ABI_H_

#include <infiniband/efadv.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace drydock::sim::verbs {

// Bits of efadv_device_attr::device_caps.
inline constexpr std::uint32_t kCapRdmaRead = 1u << 0;
inline constexpr std::uint32_t kCapRnrRetry = 1u << 1;
inline constexpr std::uint32_t kCapCqWithSgid = 1u << 2;
inline constexpr std::uint32_t kCapRdmaWrite = 1u << 3;
inline constexpr std::uint32_t kCapUnsolicitedWriteRecv = 1u << 4;
inline constexpr std::uint32_t kCapCqWithExtMemDmabuf = 1u << 5;
inline constexpr std::uint32_t kCapCompCntr = 1u << 6;

// efadv_device_attr: two bytes that were reserved are the inline bytes of a 128-byte work request.
struct DeviceAttr {
  std::uint64_t comp_mask;
  std::uint32_t max_sq_wr;
  std::uint32_t max_rq_wr;
  std::uint16_t max_sq_sge;
  std::uint16_t max_rq_sge;
  std::uint16_t inline_buf_size;
  std::uint16_t inline_buf_size_ex;
  std::uint32_t device_caps;
  std::uint32_t max_rdma_size;
};
static_assert(offsetof(DeviceAttr, inline_buf_size_ex) == 22 && sizeof(DeviceAttr) == 32);

// Bits of efadv_cq_init_attr::wc_flags.
inline constexpr std::uint64_t kCqWithSgid = 1u << 0;
inline constexpr std::uint64_t kCqWithIsUnsolicited = 1u << 1;

// efadv_cq_init_attr: where the queue's memory is was added.
struct CqInitAttr {
  std::uint64_t comp_mask;
  std::uint64_t wc_flags;
  std::uint64_t flags;
  struct {
    std::uint8_t* buffer;  // the host's address of it, or null
    std::uint64_t length;
    std::uint64_t offset;  // in the dmabuf
    std::int32_t fd;
    std::uint8_t reserved[4];
  } ext_mem_dmabuf;
};
inline constexpr std::uint64_t kCqExtMemDmabuf = 1u << 0;

// efadv_qp_init_attr: two bytes that were reserved are flags by now, and it has grown by what can be
// set on a work request.
struct QpInitAttr {
  std::uint64_t comp_mask;
  std::uint32_t driver_qp_type;
  std::uint16_t flags;
  std::uint8_t service_level;
  std::uint8_t reserved[1];
  std::uint64_t wr_flags;
};
static_assert(offsetof(QpInitAttr, wr_flags) == 16 && sizeof(QpInitAttr) == 24);
inline constexpr std::uint16_t kQpUnsolicitedWriteRecv = 1u << 0;
inline constexpr std::uint16_t kQpInlineWrite = 1u << 1;  // 128-byte work requests
inline constexpr std::uint64_t kWrWithProcessingHints = 1u << 0;

// efadv_qp, which efadv_qp_from_ibv_qp_ex returns.
struct QpFunctions {
  std::uint64_t comp_mask;
  void (*wr_set_processing_hints)(QpFunctions* queue_pair, std::uint32_t hints);
};
// Many small requests at a time: the only hint there is.
inline constexpr std::uint32_t kHintBurstPpsSensitive = 1u << 0;

// Whether nothing is asked for beyond the `known` bytes of a caller's structure.
inline bool RestIsZero(const void* structure, std::size_t known, std::size_t length) {
  const auto* bytes = static_cast<const std::uint8_t*>(structure);
  for (std::size_t i = known; i < length; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

// Gives a program `filled` in its structure of `length` bytes, which may be shorter or longer than
// ours: members that we do not know are 0.
template <typename Attr>
void FillKnown(Attr* attr, std::size_t length, const Attr& filled) {
  std::memset(static_cast<void*>(attr), 0, length);
  std::memcpy(static_cast<void*>(attr), &filled, std::min(length, sizeof filled));
}

// ibv_buf: the result of ibv_alloc_buf beside the address.
struct Buffer;

// efadv_cq, with the function that came later at its end.
struct CqFunctions {
  std::uint64_t comp_mask;
  int (*wc_read_sgid)(efadv_cq* cq, ibv_gid* sgid);
  bool (*wc_is_unsolicited)(efadv_cq* cq);
};
static_assert(offsetof(CqFunctions, wc_read_sgid) == offsetof(efadv_cq, wc_read_sgid));

// efadv_wq_attr, one for each ring of a queue pair.
struct WqAttr {
  std::uint64_t comp_mask;
  std::uint8_t* buffer;
  std::uint32_t entry_size;
  std::uint32_t num_entries;
  std::uint32_t* doorbell;
  std::uint32_t max_batch;
  std::uint16_t caps;
  std::uint8_t reserved[2];
};
static_assert(offsetof(WqAttr, caps) == 36 && sizeof(WqAttr) == 40);
inline constexpr std::uint16_t kWqWith64BitRequestIds = 1u << 0;  // of sends

// efadv_cq_attr: the doorbell was added.
struct CqAttr {
  std::uint64_t comp_mask;
  std::uint8_t* buffer;
  std::uint32_t entry_size;
  std::uint32_t num_entries;
  std::uint32_t* doorbell;
};

// efadv_mr_attr: which interconnects a region is reached by; nothing is known here.
struct MrAttr {
  std::uint64_t comp_mask;
  std::uint16_t ic_id_validity;
  std::uint16_t recv_ic_id;
  std::uint16_t rdma_read_ic_id;
  std::uint16_t rdma_recv_ic_id;
};

// ibv_mr_init_attr, for ibv_reg_mr_ex: which members count is in comp_mask.
struct MrInitAttr {
  std::size_t length;
  int access;
  std::uint64_t comp_mask;
  std::uint64_t iova;
  void* address;
  int fd;  // of a dmabuf
  std::uint64_t fd_offset;
  void* hints;
  Buffer* buffer;
};
inline constexpr std::uint64_t kMrIova = 1u << 0;
inline constexpr std::uint64_t kMrAddress = 1u << 1;
inline constexpr std::uint64_t kMrFd = 1u << 2;
inline constexpr std::uint64_t kMrFdOffset = 1u << 3;
inline constexpr std::uint64_t kMrHints = 1u << 4;
inline constexpr std::uint64_t kMrBuffer = 1u << 5;

// Of ibv_query_qp_data_in_order: a flag, and a bit of what it then returns.
inline constexpr std::uint32_t kInOrderReturnCaps = 1u << 0;
inline constexpr std::uint32_t kInOrderAligned128 = 1u << 1;

// ibv_comp_cntr.
struct CompCntr {
  ibv_context* context;
  std::uint32_t handle;
  std::uint64_t comp_count_max_value;
  std::uint64_t err_count_max_value;
};

// ibv_comp_cntr_init_attr, and what may be counted.
struct CompCntrInitAttr {
  std::uint32_t comp_mask;
  std::uint32_t type;
  std::uint32_t flags;
};
inline constexpr std::uint32_t kCountWorkRequests = 0;

// efadv_memory_location.
struct MemoryLocation {
  std::uint8_t* ptr;  // the host's address of it; null for a dmabuf that it has not mapped
  struct {
    std::uint64_t offset;
    std::int32_t fd;
    std::uint32_t reserved;
  } dmabuf;
  std::uint8_t type;
  std::uint8_t reserved[7];
};
static_assert(sizeof(MemoryLocation) == 32 && offsetof(MemoryLocation, type) == 24);
inline constexpr std::uint8_t kMemoryAtAddress = 0;
inline constexpr std::uint8_t kMemoryInDmabuf = 1;

// efadv_comp_cntr_init_attr.
struct EfaCompCntrInitAttr {
  std::uint64_t comp_mask;
  std::uint32_t flags;
  std::uint32_t reserved;
  MemoryLocation comp_cntr_ext_mem;
  MemoryLocation err_cntr_ext_mem;
};
static_assert(sizeof(EfaCompCntrInitAttr) == 80);
inline constexpr std::uint32_t kCompInExternalMemory = 1u << 0;
inline constexpr std::uint32_t kErrInExternalMemory = 1u << 1;

// ibv_qp_attach_comp_cntr_attr, and bits of its operations.
struct AttachCompCntrAttr {
  std::uint32_t comp_mask;
  std::uint32_t op_mask;
};
inline constexpr std::uint32_t kCountSends = 1u << 0;
inline constexpr std::uint32_t kCountReceives = 1u << 1;
inline constexpr std::uint32_t kCountReads = 1u << 2;
inline constexpr std::uint32_t kCountRemoteReads = 1u << 3;
inline constexpr std::uint32_t kCountWrites = 1u << 4;
inline constexpr std::uint32_t kCountRemoteWrites = 1u << 5;

// ibv_comp_cntr_caps.
struct CompCntrCaps {
  std::uint64_t max_value;
  std::uint32_t max_counters;
  std::uint32_t supported_qp_attach_ops;
};

// efadv_sq_depth_attr.
struct SqDepthAttr {
  std::uint64_t comp_mask;
  std::uint32_t flags;
  std::uint32_t max_send_sge;
  std::uint32_t max_rdma_sge;
  std::uint32_t max_inline_data;
};
inline constexpr std::uint32_t kSqDepthInlineWrite = 1u << 0;

// efadv_rq_depth_attr.
struct RqDepthAttr {
  std::uint64_t comp_mask;
  std::uint32_t max_recv_sge;
};

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_NEWER_ABI_H_
