// The project's own code, which knows nothing of Drydock.

#ifndef PAGES_H_
#define PAGES_H_

#include <cstddef>

constexpr std::size_t kPage = 4096;

// How many pages `bytes` fill, the last of them in part.
std::size_t PagesOf(std::size_t bytes);

#endif  // PAGES_H_
