#include "drydock/sim/verbs/page_rights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

// Linux 5.14; the headers of the C library may be older.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace drydock::sim::verbs {
namespace {

// By the list of the process's mappings, which has a line each: "7f00-7f10 rw-p ...".
bool IsAllowedByMappings(std::uintptr_t begin, std::uintptr_t end, bool write) {
  std::ifstream mappings("/proc/self/maps");
  std::string line;
  while (begin < end && std::getline(mappings, line)) {
    unsigned long from = 0, to = 0;
    char read_right = 0, write_right = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &from, &to, &read_right, &write_right) != 4) {
      continue;
    }
    if (to <= begin) continue;
    const bool allowed = read_right == 'r' && (!write || write_right == 'w');
    if (from > begin || !allowed) return false;
    begin = to;
  }
  return begin >= end;
}

}  // namespace

bool HasAllItsPages(const void* address, std::size_t length) {
  const std::uintptr_t last_page =
      UINTPTR_MAX - static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)) + 1;
  return length <= last_page && reinterpret_cast<std::uintptr_t>(address) <= last_page - length;
}

bool MayBePinned(const void* address, std::size_t length, bool write) {
  if (!HasAllItsPages(address, length)) return false;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address) / page * page;
  const std::uintptr_t end =
      (reinterpret_cast<std::uintptr_t>(address) + length + page - 1) / page * page;
  // The kernel looks by itself where it may fetch the pages, too: many small regions are quick. A
  // large one would take memory that a program may never touch.
  constexpr std::uintptr_t kSmall = 1 << 20;
  if (end - begin <= kSmall) {
    const int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    if (madvise(reinterpret_cast<void*>(begin), end - begin, advice) == 0) return true;
    // EINVAL: rights, memory of a device, or a kernel that cannot do it.
    if (errno == ENOMEM || errno == EFAULT) return false;
  }
  return IsAllowedByMappings(begin, end, write);
}

std::uint64_t PageBytesOf(const void* address, std::size_t length) {
  // The look walks through the page tables of the whole process: only where it can find something.
  constexpr std::size_t kLarge = 64 << 20;
  if (length < kLarge) return 0;
  std::ifstream names("/proc/self/maps");
  if (!MayHaveHugePages(names, reinterpret_cast<std::uintptr_t>(address), length)) {
    return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  std::ifstream mappings("/proc/self/smaps");
  return PageBytesIn(mappings, reinterpret_cast<std::uintptr_t>(address), length);
}

bool MayHaveHugePages(std::istream& mappings, std::uint64_t address, std::uint64_t length) {
  std::string line;
  while (std::getline(mappings, line)) {
    unsigned long from = 0, to = 0, inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) != 3) continue;
    const bool is_file = inode != 0 || line.find('/') != line.npos;  // SysV's segment 0 has inode 0
    if (to > address && from < address + length && !is_file) return false;
  }
  return true;
}

std::uint64_t PageBytesIn(std::istream& mappings, std::uint64_t address, std::uint64_t length) {
  const std::uint64_t end = address + length;
  std::uint64_t known = address;  // what lies before is known
  std::uint64_t smallest = UINT64_MAX;
  std::string line;
  unsigned long from = 0, to = 0;
  while (known < end && std::getline(mappings, line)) {
    unsigned long first = 0, last = 0, number = 0;
    char right = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c", &first, &last, &right) == 3) {
      from = first;
      to = last;
    }
    if (std::sscanf(line.c_str(), "KernelPageSize: %lu kB", &number) != 1) continue;
    if (to <= known) continue;
    if (from > known) return 0;  // a hole
    smallest = std::min<std::uint64_t>(smallest, number << 10);
    known = to;
  }
  return known < end ? 0 : smallest;
}

}  // namespace drydock::sim::verbs
