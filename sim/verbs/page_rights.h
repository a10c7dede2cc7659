// What a kernel looks at before it pins a program's memory for a device.

#ifndef SIM_VERBS_PAGE_RIGHTS_H_
#define SIM_VERBS_PAGE_RIGHTS_H_

#include <cstddef>

namespace sim::verbs {

// Whether every page of the range is this process's and may be read by it, or with `write` written,
// too. The pages of a small range are there afterwards, as pinned ones are.
bool MayBePinned(const void* address, std::size_t length, bool write);

}  // namespace sim::verbs

#endif  // SIM_VERBS_PAGE_RIGHTS_H_
