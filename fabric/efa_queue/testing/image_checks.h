// Test helper: the rules that hold for any bytes that are read as a queue entry. Shared by the fuzz
// test, which runs everywhere, and the libFuzzer target.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_TESTING_IMAGE_CHECKS_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_TESTING_IMAGE_CHECKS_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/malformed.h"
#include "drydock/fabric/efa_queue/wqe.h"

namespace drydock::fabric::efa_queue {

struct ImageVerdict {
  Malformed why = Malformed::kNone;  // what the decoder said
  const char* broken = nullptr;      // the rule that was broken; null when all is well
};

// Rules: the decoder accepts exactly what a second, plain reading of the format accepts; what it
// accepts means the same again after encoding; and the second encoding is byte for byte the first.
// Each reads the entry's own bytes only, which is up to the caller to watch.

// `wqe` has format.entry_bytes(), 8-byte aligned.
ImageVerdict CheckSendImage(const std::uint8_t* wqe, SendFormat format, unsigned phase);

// `ring` has `entries` descriptors (a power of two up to 4), 8-byte aligned. announced > 0.
ImageVerdict CheckReceiveImage(const std::uint8_t* ring, std::uint32_t entries,
                               std::uint32_t counter, std::uint32_t announced,
                               std::uint32_t max_segments);

// `cqe` has `size` bytes, 8-byte aligned.
ImageVerdict CheckCompletionImage(const std::uint8_t* cqe, CqeSize size, unsigned phase);

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_TESTING_IMAGE_CHECKS_H_
