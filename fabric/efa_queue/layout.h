// The bytes of EFA's queue entries: sizes, offsets, bits.
//
// From linux-rdma/rdma-core providers/efa/efa_io_defs.h and ofiwg/libfabric
// prov/efa/src/efa_io_defs.h. All fields are little-endian; reserved ones must be zero. wqe.h and
// cqe.h translate between these and plain values.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_LAYOUT_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace drydock::fabric::efa_queue {

// ---- send work queue entry: a meta descriptor of 32 bytes, then the data area ----

struct SendMeta {
  std::uint16_t req_id;  // bits 15:0 of the request id
  std::uint8_t ctrl1;    // 3:0 operation; 4 has_imm; 5 inline_msg; 6 reserved; 7 meta_desc
  std::uint8_t ctrl2;    // 0 phase; 1 reserved; 2 first; 3 last; 4 comp_req; 7:5 reserved
  std::uint16_t dest_qp_num;
  std::uint16_t length;  // inline: bytes; else: local segments
  std::uint32_t immediate_data;
  std::uint16_t ah;
  std::uint8_t ctrl3;  // 1:0 processing hints; 7:2 reserved
  std::uint8_t reserved15;
  std::uint32_t qkey;
  std::uint8_t reserved20[6];
  std::uint16_t req_id_ex[3];  // bits 31:16, 47:32, 63:48, in queues with 64-bit request ids
};
static_assert(sizeof(SendMeta) == 32);
static_assert(offsetof(SendMeta, req_id) == 0);
static_assert(offsetof(SendMeta, ctrl1) == 2);
static_assert(offsetof(SendMeta, ctrl2) == 3);
static_assert(offsetof(SendMeta, dest_qp_num) == 4);
static_assert(offsetof(SendMeta, length) == 6);
static_assert(offsetof(SendMeta, immediate_data) == 8);
static_assert(offsetof(SendMeta, ah) == 12);
static_assert(offsetof(SendMeta, ctrl3) == 14);
static_assert(offsetof(SendMeta, reserved15) == 15);
static_assert(offsetof(SendMeta, qkey) == 16);
static_assert(offsetof(SendMeta, reserved20) == 20);
static_assert(offsetof(SendMeta, req_id_ex) == 26);

// Local memory.
struct BufferDescriptor {
  std::uint32_t length;  // bytes
  std::uint32_t lkey;    // 23:0; 31:24 reserved
  std::uint64_t address;
};
static_assert(sizeof(BufferDescriptor) == 16);
static_assert(offsetof(BufferDescriptor, length) == 0);
static_assert(offsetof(BufferDescriptor, lkey) == 4);
static_assert(offsetof(BufferDescriptor, address) == 8);

// Memory of a peer.
struct RemoteAddress {
  std::uint32_t length;  // bytes, of the whole operation
  std::uint32_t rkey;
  std::uint64_t address;
};
static_assert(sizeof(RemoteAddress) == 16);
static_assert(offsetof(RemoteAddress, length) == 0);
static_assert(offsetof(RemoteAddress, rkey) == 4);
static_assert(offsetof(RemoteAddress, address) == 8);

// The entry of an ordinary queue.
struct alignas(8) NarrowWqe {
  SendMeta meta;
  union {
    BufferDescriptor segments[2];  // send
    struct {
      RemoteAddress remote;
      BufferDescriptor local;
    } rma;                            // read, write
    std::uint8_t inline_message[32];  // send
  } data;
};
static_assert(sizeof(NarrowWqe) == 64);
static_assert(offsetof(NarrowWqe, meta) == 0);
static_assert(offsetof(NarrowWqe, data.segments) == 32);
static_assert(offsetof(NarrowWqe, data.rma.remote) == 32);
static_assert(offsetof(NarrowWqe, data.rma.local) == 48);
static_assert(offsetof(NarrowWqe, data.inline_message) == 32);

// The entry of a queue that was made for more inline bytes, or for inline writes.
struct alignas(8) WideWqe {
  SendMeta meta;
  union {
    BufferDescriptor segments[2];
    struct {
      RemoteAddress remote;
      BufferDescriptor local;
    } rma;
    std::uint8_t inline_message[80];
    struct {
      RemoteAddress remote;
      std::uint8_t bytes[80];
    } inline_write;
  } data;
};
static_assert(sizeof(WideWqe) == 128);
static_assert(offsetof(WideWqe, meta) == 0);
static_assert(offsetof(WideWqe, data.segments) == 32);
static_assert(offsetof(WideWqe, data.rma.remote) == 32);
static_assert(offsetof(WideWqe, data.rma.local) == 48);
static_assert(offsetof(WideWqe, data.inline_message) == 32);
static_assert(offsetof(WideWqe, data.inline_write.remote) == 32);
static_assert(offsetof(WideWqe, data.inline_write.bytes) == 48);

// ---- receive work queue entry: one descriptor a segment ----

struct alignas(8) ReceiveDescriptor {
  std::uint64_t address;
  std::uint16_t req_id;
  std::uint16_t length;     // bytes
  std::uint32_t lkey_ctrl;  // 23:0 lkey; 29:24 reserved; 30 first; 31 last
};
static_assert(sizeof(ReceiveDescriptor) == 16);
static_assert(offsetof(ReceiveDescriptor, address) == 0);
static_assert(offsetof(ReceiveDescriptor, req_id) == 8);
static_assert(offsetof(ReceiveDescriptor, length) == 10);
static_assert(offsetof(ReceiveDescriptor, lkey_ctrl) == 12);

// ---- completion queue entry ----

// How every completion begins.
struct CompletionCommon {
  std::uint16_t req_id;  // undefined when unsolicited
  std::uint8_t status;
  // 0 phase; 2:1 queue type; 3 has_imm; 6:4 operation; 7 unsolicited
  std::uint8_t flags;
  std::uint16_t qp_num;  // ours
};
static_assert(sizeof(CompletionCommon) == 6);
static_assert(offsetof(CompletionCommon, req_id) == 0);
static_assert(offsetof(CompletionCommon, status) == 2);
static_assert(offsetof(CompletionCommon, flags) == 3);
static_assert(offsetof(CompletionCommon, qp_num) == 4);

// In a queue of 32-byte entries, 16 bytes of padding follow.
struct alignas(8) SendCompletion {
  CompletionCommon common;
  std::uint16_t req_id_ex[3];  // bits 31:16, 47:32, 63:48
  std::uint8_t reserved12[4];
};
static_assert(sizeof(SendCompletion) == 16);
static_assert(offsetof(SendCompletion, common) == 0);
static_assert(offsetof(SendCompletion, req_id_ex) == 6);
static_assert(offsetof(SendCompletion, reserved12) == 12);

struct alignas(8) ReceiveCompletion {
  CompletionCommon common;
  std::uint16_t length;  // bytes, bits 15:0
  std::uint16_t ah;      // of the sender; 0xFFFF: unknown
  std::uint16_t src_qp_num;
  std::uint32_t imm;
};
static_assert(sizeof(ReceiveCompletion) == 16);
static_assert(offsetof(ReceiveCompletion, common) == 0);
static_assert(offsetof(ReceiveCompletion, length) == 6);
static_assert(offsetof(ReceiveCompletion, ah) == 8);
static_assert(offsetof(ReceiveCompletion, src_qp_num) == 10);
static_assert(offsetof(ReceiveCompletion, imm) == 12);

struct alignas(8) ExtendedReceiveCompletion {
  ReceiveCompletion base;
  union {
    std::uint16_t length_high;    // a peer's write: bits 31:16 of the length
    std::uint8_t source_gid[16];  // a message from an unknown address handle
  } extra;
};
static_assert(sizeof(ExtendedReceiveCompletion) == 32);
static_assert(offsetof(ExtendedReceiveCompletion, base) == 0);
static_assert(offsetof(ExtendedReceiveCompletion, extra.length_high) == 16);
static_assert(offsetof(ExtendedReceiveCompletion, extra.source_gid) == 16);

// ---- what both sides say in these fields ----

enum class Operation : std::uint8_t { kSend = 0, kRead = 1, kWrite = 2 };

enum class QueueType : std::uint8_t { kSend = 1, kReceive = 2 };

inline constexpr std::uint16_t kUnknownAddressHandle = 0xFFFF;

// A processing hint of a write: many small packets are to come, so favour their rate
// (FI_EFA_WR_HIGH_PPS).
inline constexpr std::uint8_t kHintBurstPps = 1;

inline constexpr std::uint32_t kNarrowInlineBytes = sizeof(NarrowWqe::data.inline_message);
inline constexpr std::uint32_t kWideInlineBytes = sizeof(WideWqe::data.inline_message);
inline constexpr std::uint32_t kMaxSendSegments = 2;
inline constexpr std::uint32_t kMaxReceiveSegments = 3;  // of the devices known so far
inline constexpr std::uint32_t kMaxReceiveSegmentBytes = 0xFFFF;
inline constexpr std::uint32_t kLocalKeyMask = 0xFFFFFF;

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_LAYOUT_H_
