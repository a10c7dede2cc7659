// Send entries that tests encode: one destination, one buffer here and one there.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_TESTING_SEND_EXAMPLES_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_TESTING_SEND_EXAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "drydock/fabric/efa_queue/testing/hex.h"
#include "drydock/fabric/efa_queue/wqe.h"

namespace drydock::fabric::efa_queue {

inline constexpr SendFormat kNarrow{};
inline constexpr SendFormat kWide{.wide = true};
inline constexpr SendFormat kNarrowLong{.long_request_ids = true};

inline std::uint8_t Payload(std::size_t i) { return static_cast<std::uint8_t>(0x40 + i); }

// Bytes to send inline: 40 41 42 ...
inline const std::uint8_t* Payloads() {
  static const std::vector<std::uint8_t> bytes = [] {
    std::vector<std::uint8_t> made(80);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = Payload(i);
    return made;
  }();
  return bytes.data();
}

// The same destination in every example.
inline SendWork ToPeer(Operation operation) {
  SendWork work;
  work.operation = operation;
  work.request_id = 0xBEEF;
  work.destination_queue_pair = 0x1234;
  work.address_handle = 0x5678;
  work.qkey = 0x7ABCDEF0;
  return work;
}

inline constexpr BufferDescriptor kLocal{
    .length = 0x00012200, .lkey = 0xABCDEF, .address = 0x1122334455667788};
inline constexpr BufferDescriptor kLocal2{
    .length = 0x10, .lkey = 0x000102, .address = 0x00007F0011223344};
inline constexpr RemoteAddress kRemote{
    .length = 0x00012200, .rkey = 0xFEDCBA98, .address = 0x8877665544332211};

inline SendWork OneSegment() {
  SendWork work = ToPeer(Operation::kSend);
  work.segment_count = 1;
  work.segments[0] = kLocal;
  return work;
}

inline SendWork Rma(Operation operation) {
  SendWork work = ToPeer(operation);
  work.segment_count = 1;
  work.segments[0] = kLocal;
  work.remote = kRemote;
  return work;
}

inline SendWork Inline(Operation operation, std::uint16_t bytes) {
  SendWork work = ToPeer(operation);
  work.is_inline = true;
  work.inline_bytes = bytes;
  work.inline_data = Payloads();
  if (operation == Operation::kWrite) {
    work.remote = kRemote;
    work.remote.length = bytes;
  }
  return work;
}

inline Image Encoded(const SendWork& work, SendFormat format, unsigned phase) {
  Image image;
  std::memset(image.bytes, 0xCC, sizeof(image.bytes));
  EncodeSend(work, format, phase, image.data());
  return image;
}

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_TESTING_SEND_EXAMPLES_H_
