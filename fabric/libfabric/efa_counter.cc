#include "drydock/fabric/libfabric/efa_counter.h"

#include <rdma/fabric.h>

#include "absl/status/status.h"

namespace drydock::fabric::libfabric {
namespace {

absl::Status Locate(const MemoryRequest& word, EfaMemoryLocation& location) {
  if (word.length_bytes < kCounterWordBytes ||
      reinterpret_cast<std::uintptr_t>(word.data) % kCounterWordBytes != 0) {
    return absl::InvalidArgumentError("open counter: a word has 8 bytes, and is aligned to them");
  }
  const bool hosts = word.kind == MemoryKind::kSystem;
  if (!word.dmabuf.has_value() && !hosts) {
    return absl::UnimplementedError("open counter: device memory is given by its dmabuf");
  }
  if (hosts) location.ptr = reinterpret_cast<std::uint8_t*>(word.data);
  if (!word.dmabuf.has_value()) return absl::OkStatus();
  location.type = kInDmabuf;
  location.dmabuf.fd = word.dmabuf->fd;
  location.dmabuf.offset = word.dmabuf->offset_bytes;
  return absl::OkStatus();
}

}  // namespace

EfaGdaOps* FindCounterOps(Api& api, fid_domain* domain) {
  // An older library would answer with a shorter table.
  if (FI_VERSION_LT(api.Version(), FI_VERSION(2, 6))) return nullptr;
  void* ops = nullptr;
  if (api.OpenOps(&domain->fid, kGdaOps, &ops) != 0 || ops == nullptr) return nullptr;
  auto* table = static_cast<EfaGdaOps*>(ops);
  return table->cntr_open_ext != nullptr ? table : nullptr;
}

absl::StatusOr<EfaCounterInit> Describe(const CounterMemory& memory) {
  EfaCounterInit init{};
  if (memory.successes.data != nullptr) {
    const absl::Status located = Locate(memory.successes, init.comp_cntr_ext_mem);
    if (!located.ok()) return located;
    init.flags |= kCompInExternalMemory;
  }
  if (memory.failures.data != nullptr) {
    const absl::Status located = Locate(memory.failures, init.err_cntr_ext_mem);
    if (!located.ok()) return located;
    init.flags |= kErrInExternalMemory;
  }
  return init;
}

}  // namespace drydock::fabric::libfabric
