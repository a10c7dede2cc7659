// Queue entries as 64-bit words: how they are read, written and handed to the other side.
//
// An entry is always written in whole words. A processor forwards a store to a load of the same
// width at once, but stalls when a word is read that was written in pieces; and a ring in device
// memory wants 8-byte stores in ascending order (linux-rdma/rdma-core providers/efa/verbs.c).
//
// Everywhere here `entry` is 8-byte aligned, and `index` counts its words from 0.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_WORDS_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_WORDS_H_

#include <cstdint>
#include <cstring>

#include "drydock/fabric/efa_queue/host_device.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "EFA's fields are little-endian, and so is every machine that has EFA");

namespace drydock::fabric::efa_queue {

// A word of any object: rings are bytes to some and structs to others.
using Word [[gnu::may_alias]] = std::uint64_t;

DD_HOST_DEVICE DD_HOT std::uint64_t LoadWord(const void* entry, unsigned index) {
  return static_cast<const Word*>(entry)[index];
}

DD_HOST_DEVICE DD_HOT void StoreWord(void* entry, unsigned index, std::uint64_t value) {
  static_cast<Word*>(entry)[index] = value;
}

// Loads a word that another thread or device publishes. What was stored before its publication is
// visible to loads that follow.
DD_HOST_DEVICE DD_HOT std::uint64_t LoadPublishedWord(const void* entry, unsigned index) {
  const Word* word = static_cast<const Word*>(entry) + index;
#if defined(__CUDA_ARCH__)
  std::uint64_t value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
#else
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

// Stores a word that tells another thread or device that all stores before it are done.
DD_HOST_DEVICE DD_HOT void PublishWord(void* entry, unsigned index, std::uint64_t value) {
  Word* word = static_cast<Word*>(entry) + index;
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#else
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}

// Copies an entry of `bytes` (a multiple of 8) into a ring in device memory: one 8-byte store a
// word, ascending, each exactly once. The caller fences before it rings the doorbell.
DD_HOST_DEVICE DD_HOT void CopyToDeviceRing(void* slot, const void* entry, unsigned bytes) {
  volatile Word* to = static_cast<Word*>(slot);
  for (unsigned i = 0; i < bytes / 8; ++i) to[i] = LoadWord(entry, i);
}

// The next `bytes` of `from` as a word, filled up with zeros; all of it from 8 bytes on. Any
// alignment. Nothing past `bytes` is read.
DD_HOST_DEVICE DD_HOT std::uint64_t GatherWord(const unsigned char* from, unsigned bytes) {
  std::uint64_t word = 0;
  if (bytes >= 8) {
    std::memcpy(&word, from, 8);
    return word;
  }
  for (unsigned i = 0; i < bytes; ++i) word |= std::uint64_t{from[i]} << (8 * i);
  return word;
}

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_WORDS_H_
