// The beginnings of the structures that fi_getinfo returns, as ofiwg/libfabric
// include/rdma/fabric.h has had them since 1.0: what doctor reads of a libfabric that it was not
// built with. Where the header is there, program_test compares the two.

#ifndef DRYDOCK_APPS_DOCTOR_FABRIC_ABI_H_
#define DRYDOCK_APPS_DOCTOR_FABRIC_ABI_H_

#include <cstddef>
#include <cstdint>

namespace drydock::apps::doctor {

struct FabricAttributesHead {  // fi_fabric_attr
  void* fabric;
  const char* name;
  const char* prov_name;
};

struct DomainAttributesHead {  // fi_domain_attr
  void* domain;
  const char* name;
};

struct FabricInfoHead {  // fi_info
  FabricInfoHead* next;
  std::uint64_t caps;
  std::uint64_t mode;
  std::uint32_t addr_format;
  std::size_t src_addrlen;
  std::size_t dest_addrlen;
  void* src_addr;
  void* dest_addr;
  void* handle;
  void* tx_attr;
  void* rx_attr;
  void* ep_attr;
  DomainAttributesHead* domain_attr;
  FabricAttributesHead* fabric_attr;
};

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_FABRIC_ABI_H_
