#include "fabric/endpoint.h"

// In this project's C++: Drydock's C++20 is for its own sources, and for its seed tests.
static_assert(__cplusplus < 202002L, "a target that asked for nothing is compiled as C++20");

namespace fabric {

std::size_t Endpoint::PagesOf(std::size_t bytes) { return (bytes + kPage - 1) / kPage; }

}  // namespace fabric
