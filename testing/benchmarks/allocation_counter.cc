#include "drydock/testing/benchmarks/allocation_counter.h"

#include <cstdlib>
#include <new>

namespace drydock::bench {
namespace {

Allocations allocations;

void* CountedMalloc(std::size_t size) {
  ++allocations.count;
  allocations.bytes += size;
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

Allocations AllocationsSoFar() { return allocations; }

}  // namespace drydock::bench

void* operator new(std::size_t size) {
  void* bytes = drydock::bench::CountedMalloc(size);
  if (bytes == nullptr) std::abort();
  return bytes;
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return drydock::bench::CountedMalloc(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return drydock::bench::CountedMalloc(size);
}
void operator delete(void* bytes) noexcept { std::free(bytes); }
void operator delete[](void* bytes) noexcept { std::free(bytes); }
void operator delete(void* bytes, std::size_t) noexcept { std::free(bytes); }
void operator delete[](void* bytes, std::size_t) noexcept { std::free(bytes); }
void operator delete(void* bytes, const std::nothrow_t&) noexcept { std::free(bytes); }
void operator delete[](void* bytes, const std::nothrow_t&) noexcept { std::free(bytes); }
