// The checks that a kernel makes before it pins a program's memory for a device.

#ifndef DRYDOCK_SIM_VERBS_PAGE_RIGHTS_H_
#define DRYDOCK_SIM_VERBS_PAGE_RIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <istream>

namespace drydock::sim::verbs {

// Whether the pages of the range end before the address space does.
bool HasAllItsPages(const void* address, std::size_t length);

// Whether every page of the range is this process's and may be read by it, or with `write` written,
// too. The pages of a small range are there afterwards, as pinned ones are.
bool MayBePinned(const void* address, std::size_t length, bool write);

// Bytes of the smallest page of the range: more than the system's where all of it is of huge pages
// (MAP_HUGETLB, hugetlbfs; transparent ones do not count). 0: not known, as of small ranges, which
// are not worth the look: a device can have many of them.
std::uint64_t PageBytesOf(const void* address, std::size_t length);

// Whether all of the range can be of huge pages, by the list of a process's mappings (proc(5),
// /proc/PID/maps): those are of a file, also where they are anonymous; ordinary memory has none.
bool MayHaveHugePages(std::istream& mappings, std::uint64_t address, std::uint64_t length);

// PageBytesOf by the list of a process's mappings (proc(5), /proc/PID/smaps). Of any length.
std::uint64_t PageBytesIn(std::istream& mappings, std::uint64_t address, std::uint64_t length);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_PAGE_RIGHTS_H_
