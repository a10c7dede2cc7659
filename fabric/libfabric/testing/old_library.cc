// A libfabric that is older than any header: what library_test.cc has refused.

#include <cstdint>

extern "C" {
std::uint32_t fi_version() { return 1 << 16; }  // 1.0
void fi_getinfo() {}
void fi_dupinfo() {}
void fi_freeinfo() {}
void fi_fabric() {}
void fi_strerror() {}
void fi_tostr() {}
}
