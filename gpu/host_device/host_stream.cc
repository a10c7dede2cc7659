#include "drydock/gpu/host_device/host_stream.h"

#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/strings/str_format.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/pattern.h"

namespace drydock::gpu {
namespace {

absl::Status CheckWords(const std::byte* address, std::size_t length_bytes) {
  if (length_bytes % 8 == 0 && reinterpret_cast<std::uintptr_t>(address) % 8 == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("pattern of %u bytes at %p: not whole words of 8 bytes", length_bytes,
                      static_cast<const void*>(address)));
}

void FillWords(std::byte* target, std::size_t length_bytes, const Pattern& pattern) {
  for (std::size_t i = 0; i < length_bytes / 8; ++i) {
    const std::uint64_t word = PatternWord(pattern.seed, pattern.first_word + i);
    std::memcpy(target + 8 * i, &word, 8);
  }
}

Mismatch Compare(const std::byte* source, std::size_t length_bytes, const Pattern& pattern) {
  Mismatch mismatch;
  for (std::size_t i = 0; i < length_bytes / 8; ++i) {
    const std::uint64_t wanted = PatternWord(pattern.seed, pattern.first_word + i);
    if (std::memcmp(source + 8 * i, &wanted, 8) == 0) continue;
    if (mismatch.wrong_words++ == 0) mismatch.first_wrong_byte = 8 * i;
  }
  return mismatch;
}

// What the device sees there. kInvalidArgument: it is no device's memory.
absl::StatusOr<std::byte*> Seen(const std::byte* address, std::size_t length) {
  const std::shared_ptr<HostMemory> memory = HostMemory::Find(address, length);
  if (memory == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%u bytes at %p are not memory of a stand-in GPU", length,
                        static_cast<const void*>(address)));
  }
  return memory->Seen(address);
}

}  // namespace

absl::Status HostStream::Fill(std::byte* target, std::size_t length_bytes, const Pattern& pattern) {
  RETURN_IF_ERROR(CheckWords(target, length_bytes));
  ASSIGN_OR_RETURN(std::byte* const seen, Seen(target, length_bytes));
  commands_.push_back([=] { FillWords(seen, length_bytes, pattern); });
  return absl::OkStatus();
}

absl::Status HostStream::Copy(std::byte* target, const std::byte* source,
                              std::size_t length_bytes) {
  ASSIGN_OR_RETURN(std::byte* const to, Seen(target, length_bytes));
  ASSIGN_OR_RETURN(const std::byte* const from, Seen(source, length_bytes));
  commands_.push_back([=] { std::memmove(to, from, length_bytes); });
  return absl::OkStatus();
}

absl::Status HostStream::CopyFromHost(std::byte* target, const std::byte* host,
                                      std::size_t length_bytes) {
  ASSIGN_OR_RETURN(std::byte* const to, Seen(target, length_bytes));
  commands_.push_back([=] { std::memcpy(to, host, length_bytes); });
  return absl::OkStatus();
}

absl::Status HostStream::CopyToHost(std::byte* host, const std::byte* source,
                                    std::size_t length_bytes) {
  ASSIGN_OR_RETURN(const std::byte* const from, Seen(source, length_bytes));
  commands_.push_back([=] { std::memcpy(host, from, length_bytes); });
  return absl::OkStatus();
}

absl::StatusOr<bool> HostStream::Done() {
  if (commands_.empty()) return true;
  Run(1);
  return false;
}

absl::Status HostStream::Synchronize() {
  Run(commands_.size());
  return absl::OkStatus();
}

absl::StatusOr<Mismatch> HostStream::Verify(const std::byte* source, std::size_t length_bytes,
                                            const Pattern& pattern) {
  RETURN_IF_ERROR(CheckWords(source, length_bytes));
  ASSIGN_OR_RETURN(const std::byte* const seen, Seen(source, length_bytes));
  Run(commands_.size());
  return Compare(seen, length_bytes, pattern);
}

void HostStream::Run(std::size_t commands) {
  for (; commands > 0; --commands) {
    commands_.front()();
    commands_.pop_front();
  }
}

}  // namespace drydock::gpu
