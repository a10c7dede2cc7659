// How this machine calls itself.

#ifndef DRYDOCK_APPS_COMMON_HOST_NAME_H_
#define DRYDOCK_APPS_COMMON_HOST_NAME_H_

#include <unistd.h>

#include <array>
#include <string>

namespace drydock::apps {

// As gethostname(2), cut after 255 bytes; empty if it cannot be had.
inline std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_HOST_NAME_H_
