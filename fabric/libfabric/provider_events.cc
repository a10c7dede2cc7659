#include "drydock/fabric/libfabric/provider_events.h"

#include <rdma/fi_errno.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "drydock/fabric/libfabric/errno_mapping.h"
#include "drydock/fabric/libfabric/library.h"

namespace drydock::fabric::libfabric {

absl::Status ProviderEvents::Open(Api& api, fid_fabric* fabric) {
  fi_eq_attr attributes{};
  attributes.size = 256;
  attributes.wait_obj = FI_WAIT_NONE;
  fid_eq* queue = nullptr;
  if (const int result = api.OpenEventQueue(fabric, &attributes, &queue); result != 0) {
    return ControlError(result, "open domain: fi_eq_open");
  }
  queue_ = Handle<fid_eq>(api, queue);
  return absl::OkStatus();
}

int ProviderEvents::Bind(Api& api, fid_ep* endpoint) const {
  return queue_ ? api.Bind(endpoint, &queue_.get()->fid, 0) : 0;
}

void ProviderEvents::Take() {
  std::array<char, 256> event;
  std::uint32_t kind = 0;
  while (true) {
    const ssize_t got = fi_eq_read(queue_.get(), &kind, event.data(), event.size(), 0);
    if (got > 0) continue;  // no event of this kind means anything here
    if (got != -FI_EAVAIL) return;
    fi_eq_err_entry error{};
    if (fi_eq_readerr(queue_.get(), &error, 0) <= 0) return;
    if (errors_.fetch_add(1, std::memory_order_relaxed) > 0) continue;
    const char* text = fi_eq_strerror(queue_.get(), error.prov_errno, error.err_data, nullptr, 0);
    std::fprintf(stderr,
                 "libfabric: the provider met an error that belongs to no request of this program "
                 "(a peer's, perhaps): %s; provider error %d%s%s\n",
                 InstalledLibrary()->strerror(std::abs(error.err)), error.prov_errno,
                 text == nullptr ? "" : ": ", text == nullptr ? "" : text);
  }
}

}  // namespace drydock::fabric::libfabric
