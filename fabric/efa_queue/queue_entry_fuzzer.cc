// The libFuzzer target: the same rules as fuzz_test, with inputs chosen by coverage. See README.md.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "drydock/fabric/efa_queue/malformed.h"
#include "drydock/fabric/efa_queue/testing/image_checks.h"

namespace drydock::fabric::efa_queue {
namespace {

// A block of exactly `size` bytes with the input in front and zeros behind, so that
// AddressSanitizer sees any step outside.
std::unique_ptr<std::uint64_t[]> Block(const std::uint8_t* data, std::size_t available,
                                       std::size_t size) {
  auto block = std::make_unique<std::uint64_t[]>(size / 8);
  std::memcpy(block.get(), data, available < size ? available : size);
  return block;
}

ImageVerdict Check(std::uint8_t choice, const std::uint8_t* data, std::size_t available) {
  const unsigned phase = choice & 1;
  switch ((choice >> 1) & 3) {
    case 0: {
      const CqeSize size = (choice & 8) != 0 ? CqeSize::k32 : CqeSize::k16;
      const auto block = Block(data, available, static_cast<std::size_t>(size));
      return CheckCompletionImage(reinterpret_cast<const std::uint8_t*>(block.get()), size, phase);
    }
    case 1: {
      const std::uint32_t entries = 1u << ((choice >> 3) & 1) << ((choice >> 4) & 1);
      const auto block = Block(data, available, 16 * std::size_t{entries});
      return CheckReceiveImage(reinterpret_cast<const std::uint8_t*>(block.get()), entries,
                               choice >> 5, entries, 3);
    }
    default: {
      const SendFormat format{.wide = (choice & 8) != 0, .long_request_ids = (choice & 16) != 0};
      const auto block = Block(data, available, format.entry_bytes());
      return CheckSendImage(reinterpret_cast<const std::uint8_t*>(block.get()), format, phase);
    }
  }
}

}  // namespace
}  // namespace drydock::fabric::efa_queue

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const drydock::fabric::efa_queue::ImageVerdict verdict =
      drydock::fabric::efa_queue::Check(data[0], data + 1, size - 1);
  if (verdict.broken != nullptr) {
    std::fprintf(stderr, "%s (%s)\n", verdict.broken,
                 drydock::fabric::efa_queue::MalformedName(verdict.why));
    std::abort();
  }
  return 0;
}
