// The project's own code, which knows nothing of Drydock: a file, a namespace and a class that
// Drydock has as well.

#ifndef FABRIC_ENDPOINT_H_
#define FABRIC_ENDPOINT_H_

#include <cstddef>

namespace fabric {

constexpr std::size_t kPage = 4096;

class Endpoint {
 public:
  // How many pages `bytes` fill, the last of them in part.
  static std::size_t PagesOf(std::size_t bytes);
};

}  // namespace fabric

#endif  // FABRIC_ENDPOINT_H_
