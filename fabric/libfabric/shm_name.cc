#include "drydock/fabric/libfabric/shm_name.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"

namespace drydock::fabric::libfabric {
namespace {

// A child of fork has the same number behind another process number.
std::string ProcessName() {
  static const std::uint64_t kDrawn = [] {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }();
  return absl::StrFormat("fi_shm://%d-%016x", getpid(), kDrawn);
}

}  // namespace

void NameSharedMemory(fi_info* list) {
  for (; list != nullptr; list = list->next) {
    const char* provider = list->fabric_attr->prov_name;
    if (provider == nullptr || std::string_view(provider) != "shm") continue;
    const std::string name = ProcessName();
    std::free(list->src_addr);  // fi_freeinfo frees what is there then
    list->src_addr = strdup(name.c_str());
    list->src_addrlen = name.size() + 1;
  }
}

}  // namespace drydock::fabric::libfabric
