// The capabilities of the NICs, asked of rdma-core. The prototypes and the structure are those of
// its public interface, whose symbols are versioned: linux-rdma/rdma-core libibverbs/verbs.h,
// providers/efa/efadv.h. They are declared here as those of libfabric are in fabric_abi.h.

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/doctor/probe_answer.h"
#include "drydock/apps/doctor/probes.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::doctor {
namespace {

constexpr coro::Duration kPatience = std::chrono::seconds(20);

struct EfaDeviceAttributes {  // efadv_device_attr
  std::uint64_t comp_mask;
  std::uint32_t max_sq_wr;
  std::uint32_t max_rq_wr;
  std::uint16_t max_sq_sge;
  std::uint16_t max_rq_sge;
  std::uint16_t inline_buf_size;
  std::uint8_t reserved[2];
  std::uint32_t device_caps;
  std::uint32_t max_rdma_size;
};
static_assert(sizeof(EfaDeviceAttributes) == 32);

struct RdmaCore {
  void** (*device_list)(int*) = nullptr;
  const char* (*device_name)(void*) = nullptr;
  void* (*open_device)(void*) = nullptr;
  int (*close_device)(void*) = nullptr;
  int (*query_device)(void*, EfaDeviceAttributes*, std::uint32_t) = nullptr;

  bool Resolve(void* verbs, void* efa) {
    return Find(verbs, "ibv_get_device_list", device_list) &&
           Find(verbs, "ibv_get_device_name", device_name) &&
           Find(verbs, "ibv_open_device", open_device) &&
           Find(verbs, "ibv_close_device", close_device) &&
           Find(efa, "efadv_query_device", query_device);
  }

  // A line; empty: it is another maker's device.
  std::string Describe(void* device) const {
    const std::string name = Text(device_name(device));
    void* const context = open_device(device);
    if (context == nullptr) return absl::StrCat("\nclosed\t", name);
    EfaDeviceAttributes attributes{};
    const int error = query_device(context, &attributes, sizeof(attributes));
    close_device(context);
    if (error != 0) return "";
    return absl::StrCat("\ndevice\t", name, "\t", attributes.device_caps, "\t",
                        attributes.max_rdma_size);
  }
};

std::string AskDevicesHere(const std::string& libibverbs, const std::string& libefa) {
  // libefa finds libibverbs's symbols through it.
  void* const verbs = dlopen(libibverbs.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const efa = verbs == nullptr ? nullptr : dlopen(libefa.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (efa == nullptr) return ErrorAnswer(dlerror());
  RdmaCore core;
  if (!core.Resolve(verbs, efa)) return ErrorAnswer("they lack functions of rdma-core 24");
  int count = 0;
  void** const devices = core.device_list(&count);
  std::string answer = absl::StrCat("count\t", devices == nullptr ? 0 : count);
  for (int i = 0; devices != nullptr && i < count; ++i) answer += core.Describe(devices[i]);
  return answer;
}

}  // namespace

absl::StatusOr<std::vector<DeviceAnswer>> LiveProbes::AskDevices(const std::string& libibverbs,
                                                                 const std::string& libefa) {
  ASSIGN_OR_RETURN(const std::string text,
                   RunInChild([&] { return AskDevicesHere(libibverbs, libefa); }, kPatience));
  std::vector<DeviceAnswer> answers;
  RETURN_IF_ERROR(ReadAnswer(text, [&](const std::vector<std::string>& fields) {
    if (fields[0] != "device" && fields[0] != "closed") return;
    DeviceAnswer answer{.name = fields[1], .opened = fields[0] == "device"};
    const bool known = absl::SimpleAtoi(fields[2], &answer.capabilities) &&
                       absl::SimpleAtoi(fields[3], &answer.max_rdma_bytes);
    if (known || !answer.opened) answers.push_back(std::move(answer));
  }));
  return answers;
}

}  // namespace drydock::apps::doctor
