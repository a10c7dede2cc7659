// What can only be known by trying: libfabric and the CUDA driver are loaded and asked, each in a
// process of its own. One that crashes, hangs or prints is a finding, and not the end of doctor.

#ifndef DRYDOCK_APPS_DOCTOR_PROBES_H_
#define DRYDOCK_APPS_DOCTOR_PROBES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/doctor/version.h"
#include "drydock/coro/time.h"

namespace drydock::apps::doctor {

// One entry of fi_getinfo's list.
struct FabricOffer {
  std::string fabric;  // efa-direct
  std::string domain;  // rdmap79s0-rdm
};

struct LibfabricAnswer {
  Version version;                  // fi_version: two numbers
  std::vector<FabricOffer> offers;  // of the provider efa
  int error = 0;                    // of fi_getinfo; 0: none
};

struct CudaGpu {
  std::string name;
  bool dmabuf = false;     // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
  bool gpudirect = false;  // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
};

struct CudaAnswer {
  Version driver;  // the CUDA version that the driver implements
  std::vector<CudaGpu> gpus;
  // A dmabuf of 2 MiB of the first GPU, asked for by a thread with a context, and by one without:
  // CUDA's error numbers; 0: it came.
  int export_with_context = 0;
  int export_without_context = 0;
};

// What the driver tells of one NIC: efadv_query_device.
struct DeviceAnswer {
  std::string name;                // rdmap79s0
  bool opened = false;             // else the rest is not known
  std::uint32_t capabilities = 0;  // efadv's bits
  std::uint32_t max_rdma_bytes = 0;
};

class Probes {
 public:
  virtual ~Probes() = default;

  // Asks the library in this file for its version and for the NICs of its provider efa.
  // kUnavailable: it cannot be loaded; kAborted: it ended the process that asked;
  // kDeadlineExceeded: it does not answer. The message is one line.
  virtual absl::StatusOr<LibfabricAnswer> AskLibfabric(const std::string& file) = 0;

  // Asks the libraries of rdma-core in these files for the EFA devices. Errors as above. Those of
  // other makers are left out.
  virtual absl::StatusOr<std::vector<DeviceAnswer>> AskDevices(const std::string& libibverbs,
                                                               const std::string& libefa) = 0;

  // Takes a context on the first GPU for a moment: some hundred MiB of its memory. Errors as above;
  // kUnavailable also where there is no driver or no GPU that it knows.
  virtual absl::StatusOr<CudaAnswer> AskCuda() = 0;
};

// The system's own libraries.
class LiveProbes final : public Probes {
 public:
  absl::StatusOr<LibfabricAnswer> AskLibfabric(const std::string& file) override;
  absl::StatusOr<std::vector<DeviceAnswer>> AskDevices(const std::string& libibverbs,
                                                       const std::string& libefa) override;
  absl::StatusOr<CudaAnswer> AskCuda() override;
};

// Runs `work` in a child process, and returns what it returns: at most 64 KiB of text. Standard
// error of the child is closed. kAborted: the child died, by a signal or an exit of other code;
// kDeadlineExceeded: it took longer than `limit`, and was killed. REQUIRES: one thread only.
absl::StatusOr<std::string> RunInChild(const std::function<std::string()>& work,
                                       coro::Duration limit);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_PROBES_H_
