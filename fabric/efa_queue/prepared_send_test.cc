// A prepared work request is, byte for byte, what the encoder makes of the same work.

#include "drydock/fabric/efa_queue/prepared_send.h"

#include <cstdint>
#include <cstring>

#include "drydock/fabric/efa_queue/wqe.h"
#include "gtest/gtest.h"

namespace drydock::fabric::efa_queue {
namespace {

SendWork Example(Operation operation) {
  SendWork work;
  work.operation = operation;
  work.has_immediate = operation != Operation::kRead;
  work.immediate = 0x11223344;
  work.destination_queue_pair = 0x1234;
  work.address_handle = 0x5678;
  work.qkey = 0x7ABCDEF0;
  work.segment_count = 1;
  work.segments[0] = {.length = 0x12200, .lkey = 0xABCDEF, .address = 0x00007F11FFFFFF00};
  if (operation != Operation::kSend) {
    work.remote = {.length = 0x12200, .rkey = 0xFEDCBA98, .address = 0x00007F22FFFFFE00};
  }
  return work;
}

// The first bytes of the entry, by the encoder.
void Encode(SendWork work, std::uint64_t request_id, std::uint64_t local, std::uint64_t remote,
            SendFormat format, unsigned phase, Word* entry) {
  work.request_id = request_id;
  work.segments[0].address += local;
  if (work.operation != Operation::kSend) work.remote.address += remote;
  alignas(8) std::uint8_t whole[sizeof(WideWqe)];
  EncodeSend(work, format, phase, whole);
  std::memcpy(entry, whole, PreparedSend::kBytes);
  for (std::size_t i = PreparedSend::kBytes; i < format.entry_bytes(); ++i) EXPECT_EQ(whole[i], 0);
}

TEST(PreparedSend, IsWhatTheEncoderMakes) {
  for (const Operation operation : {Operation::kSend, Operation::kRead, Operation::kWrite}) {
    for (const bool wide : {false, true}) {
      for (const bool long_request_ids : {false, true}) {
        const SendFormat format{.wide = wide, .long_request_ids = long_request_ids};
        SendWork first = Example(operation);
        first.request_id = 77;  // of no meaning: each has its own
        const PreparedSend prepared(first, format);
        for (const std::uint64_t request_id : {0ull, 0xBEEFull, 0x12345678ull}) {
          for (const unsigned phase : {0u, 1u}) {
            Word expected[8], stored[8];
            std::memset(stored, 0xCC, sizeof(stored));
            Encode(first, request_id, 0x100, 0x3000, format, phase, expected);
            prepared.Store(phase, request_id, 0x100, 0x3000, stored);
            for (int i = 0; i < 8; ++i) {
              EXPECT_EQ(stored[i], expected[i])
                  << "word " << i << " of operation " << static_cast<int>(operation);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace drydock::fabric::efa_queue
