#include <rdma/fi_cm.h>

#include "drydock/fabric/libfabric/api.h"
#include "drydock/fabric/libfabric/library.h"

namespace drydock::fabric::libfabric {
namespace {

class LoadedApi final : public Api {
 public:
  explicit LoadedApi(const Library& library) : library_(library) {}

  std::uint32_t Version() const override { return library_.version(); }

  int GetInfo(std::uint32_t version, const fi_info* hints, fi_info** info) override {
    return library_.getinfo(version, nullptr, nullptr, 0, hints, info);
  }
  void FreeInfo(fi_info* info) override { library_.freeinfo(info); }

  int OpenFabric(fi_fabric_attr* attributes, fid_fabric** fabric) override {
    return library_.fabric(attributes, fabric, nullptr);
  }
  int OpenDomain(fid_fabric* fabric, fi_info* info, fid_domain** domain) override {
    return fi_domain(fabric, info, domain, nullptr);
  }
  int OpenCompletionQueue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue) override {
    return fi_cq_open(domain, attributes, queue, nullptr);
  }
  int OpenAddressVector(fid_domain* domain, fi_av_attr* attributes, fid_av** vector) override {
    return fi_av_open(domain, attributes, vector, nullptr);
  }
  int OpenCounter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter) override {
    return fi_cntr_open(domain, attributes, counter, nullptr);
  }
  int OpenOps(fid* object, const char* name, void** ops) override {
    return fi_open_ops(object, name, 0, ops, nullptr);
  }
  int OpenEventQueue(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** queue) override {
    return fi_eq_open(fabric, attributes, queue, nullptr);
  }
  int OpenEndpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint) override {
    return fi_endpoint(domain, info, endpoint, nullptr);
  }
  int RegisterMemory(fid_domain* domain, const fi_mr_attr* attributes, std::uint64_t flags,
                     fid_mr** region) override {
    return fi_mr_regattr(domain, attributes, flags, region);
  }

  int Bind(fid_ep* endpoint, fid* object, std::uint64_t flags) override {
    return fi_ep_bind(endpoint, object, flags);
  }
  int SetOption(fid_ep* endpoint, int option, std::size_t value) override {
    return fi_setopt(&endpoint->fid, FI_OPT_ENDPOINT, option, &value, sizeof value);
  }
  int GetOption(fid_ep* endpoint, int option, std::size_t* value) override {
    std::size_t length = sizeof *value;
    return fi_getopt(&endpoint->fid, FI_OPT_ENDPOINT, option, value, &length);
  }
  int Enable(fid_ep* endpoint) override { return fi_enable(endpoint); }
  int GetName(fid* endpoint, void* address, std::size_t* length) override {
    return fi_getname(endpoint, address, length);
  }

  int InsertAddress(fid_av* vector, const void* address, fi_addr_t* peer) override {
    return fi_av_insert(vector, address, 1, peer, 0, nullptr);
  }
  int RemoveAddress(fid_av* vector, fi_addr_t peer) override {
    return fi_av_remove(vector, &peer, 1, 0);
  }

  int GetWaitDescriptor(fid_cq* queue, int* descriptor) override {
    return fi_control(&queue->fid, FI_GETWAIT, descriptor);
  }
  int TryWait(fid_fabric* fabric, fid* object) override { return fi_trywait(fabric, &object, 1); }

  int Close(fid* object) override { return fi_close(object); }

 private:
  const Library& library_;
};

}  // namespace

absl::StatusOr<Api*> RealApi() {
  const absl::StatusOr<Library>& library = InstalledLibrary();
  if (!library.ok()) return library.status();
  static LoadedApi api(*library);
  return &api;
}

}  // namespace drydock::fabric::libfabric
