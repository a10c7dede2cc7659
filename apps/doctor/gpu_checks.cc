// Where the rules come from: amzn-drivers kernel/linux/efa/src/efa_p2p.c and RELEASENOTES.md;
// ofiwg/libfabric prov/efa/src/efa_hmem.c; NVIDIA/open-gpu-kernel-modules (dmabuf needs the open
// flavour); aws/aws-ofi-nccl and NVIDIA/nvshmem for gdrcopy and the doorbells.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/doctor/checks.h"

namespace drydock::apps::doctor {
namespace {

constexpr char kDriverFile[] = "/proc/driver/nvidia/version";

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build".
struct NvidiaDriver {
  bool open = false;
  std::string name;  // 580.65.06; empty: not told
  std::optional<Version> version;
};

NvidiaDriver ReadDriver(const std::string& line) {
  NvidiaDriver driver;
  driver.open = absl::StrContains(line, "Open Kernel Module");
  for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    const std::optional<Version> version = ParseVersion(word);
    if (!version.has_value() || version->major < 100 || !absl::StrContains(word, '.')) continue;
    driver.version = version;
    driver.name = std::string(word);
    break;
  }
  return driver;
}

std::optional<Version> EfaDriver(const MachineFacts& machine) {
  return ParseVersion(machine.files.FirstLine("/sys/module/efa/version"));
}

void CheckDriver(const MachineFacts& machine, const NvidiaDriver& driver, Findings& findings) {
  const std::string what =
      absl::StrCat("NVIDIA ", driver.version ? driver.name : "of no version",
                   driver.open ? ", the open kernel module" : ", the proprietary kernel module");
  const std::optional<Version> efa = EfaDriver(machine);
  if (driver.version && driver.version->major >= 580 && efa && *efa < Version{2, 17, 3}) {
    findings.Warning(
        "gpu-driver",
        absl::StrCat(what, ", needs efa 2.17.3 for peer memory; this is ", FormatVersion(*efa)),
        "install the newest EFA installer");
  } else {
    findings.Ok("gpu-driver", what);
  }
}

// What lies between GPU memory and a NIC by way of a dmabuf; empty: nothing.
std::vector<std::string> MissingForDmabuf(const MachineFacts& machine, const NvidiaDriver& driver) {
  std::vector<std::string> missing;
  if (!driver.open) missing.emplace_back("NVIDIA's open kernel module");
  const std::optional<Version> efa = EfaDriver(machine);
  if (efa && *efa < Version{1, 16, 0}) missing.emplace_back("efa 1.16");
  const LibraryCopy* const verbs = LoadedCopy(machine.libibverbs);
  if (verbs == nullptr || verbs->elf.symbols.count("ibv_reg_dmabuf_mr") == 0) {
    missing.emplace_back("rdma-core 38");
  } else if (verbs->version && *verbs->version < Version{38, 0, 0}) {
    missing.emplace_back("rdma-core 38");
  }
  const LibraryCopy* const fabric = LoadedCopy(machine.libfabric);
  if (fabric == nullptr || (fabric->version && *fabric->version < Version{1, 20, 0})) {
    missing.emplace_back("libfabric 1.20");
  }
  return missing;
}

// The module that registers GPU memory by its address; empty: none.
std::string PeerMemory(const MachineFacts& machine) {
  for (const Nic& nic : machine.nics) {
    if (absl::StartsWith(nic.peer_memory, "NVIDIA")) return nic.peer_memory;
  }
  for (const char* module : {"efa_nv_peermem", "nv_peer_mem"}) {
    if (machine.files.Exists(absl::StrCat("/sys/module/", module))) return module;
  }
  return "";
}

void CheckPeerMemory(const MachineFacts& machine, const NvidiaDriver& driver, Findings& findings) {
  const std::vector<std::string> missing = MissingForDmabuf(machine, driver);
  const std::string module = PeerMemory(machine);
  if (missing.empty()) {
    findings.Ok("gpu-peer-memory", absl::StrCat("GPU memory reaches the NICs by dmabuf",
                                                module.empty() ? "" : ", and by " + module));
  } else if (!module.empty()) {
    findings.Info("gpu-peer-memory",
                  absl::StrCat("GPU memory reaches the NICs by ", module,
                               "; for dmabuf there is no ", absl::StrJoin(missing, ", no ")));
  } else {
    findings.Warning("gpu-peer-memory",
                     absl::StrCat("GPU memory does not reach the NICs: no peer memory module, and "
                                  "for dmabuf no ",
                                  absl::StrJoin(missing, ", no "),
                                  "; libfabric copies through the host, or refuses it"),
                     "install what is missing, or `sudo modprobe efa_nv_peermem`");
  }
}

void CheckHelpers(const MachineFacts& machine, Findings& findings) {
  const bool gdrcopy = machine.files.Exists("/dev/gdrdrv");
  findings.Info("gdrcopy", gdrcopy ? "the gdrcopy driver is there (/dev/gdrdrv)"
                                   : "no gdrcopy driver: small copies to GPUs take CUDA's way, and "
                                     "NVSHMEM on EFA needs it");
  const auto parameters = machine.files.Read("/proc/driver/nvidia/params");
  const bool mapped = parameters.ok() && absl::StrContains(*parameters, "PeerMappingOverride=1");
  findings.Info("gpu-doorbells",
                mapped ? "GPUs may ring the NICs' doorbells (PeerMappingOverride=1)"
                       : "GPUs cannot ring the NICs' doorbells: PeerMappingOverride is not set",
                mapped ? ""
                       : "only for transfers that a GPU starts: options nvidia "
                         "NVreg_RegistryDwords=\"PeerMappingOverride=1;\" in /etc/modprobe.d");
}

// The two that are to be expected here (NVIDIA's cuda.h); others by number.
std::string CudaError(int error) {
  const char* const name = error == 201   ? " (CUDA_ERROR_INVALID_CONTEXT)"
                           : error == 801 ? " (CUDA_ERROR_NOT_SUPPORTED)"
                                          : "";
  return absl::StrCat("error ", error, name);
}

void CheckContext(const CudaAnswer& answer, Findings& findings) {
  if (answer.export_with_context != 0) {
    findings.Warning("gpu-dmabuf",
                     absl::StrCat("CUDA exports no dmabuf of ", answer.gpus.front().name, ": ",
                                  CudaError(answer.export_with_context)),
                     "see gpu-peer-memory; without a dmabuf, memory is registered by its address, "
                     "which needs a peer memory module");
    return;
  }
  findings.Ok("gpu-dmabuf", absl::StrCat("CUDA ", FormatVersion(answer.driver, 2),
                                         " exports dmabufs "
                                         "of ",
                                         answer.gpus.front().name));
  if (answer.export_without_context != 0) {
    findings.Info("gpu-context",
                  absl::StrCat("a thread without a CUDA context gets ",
                               CudaError(answer.export_without_context),
                               " for the same memory: tried here, and so it is for registrations"),
                  "call cudaSetDevice, or cuCtxSetCurrent, on every thread that registers memory");
  }
}

void AskDriver(Probes& probes, Findings& findings) {
  const absl::StatusOr<CudaAnswer> answer = probes.AskCuda();
  if (!answer.ok()) {
    findings.Warning(
        "gpu-dmabuf",
        absl::StrCat("the CUDA driver was loaded and asked: ", answer.status().message()),
        "install the driver's libraries (libcuda.so.1); in a container, start it with "
        "--gpus=all");
    return;
  }
  if (answer->gpus.empty()) {
    findings.Warning("gpu-dmabuf", "the CUDA driver names no GPU", "see `nvidia-smi`");
    return;
  }
  CheckContext(*answer, findings);
}

}  // namespace

void CheckGpus(const MachineFacts& machine, Probes* probes, Findings& findings) {
  const std::string line = machine.files.FirstLine(kDriverFile);
  if (!machine.has_nvidia_gpu() && line.empty()) {
    findings.Info("gpu-driver", machine.gpus.empty()
                                    ? "no GPU is here"
                                    : "no NVIDIA GPU is here; others are not looked at");
    return;
  }
  if (line.empty()) {
    findings.Warning(
        "gpu-driver",
        absl::StrCat(machine.gpus.size(), " NVIDIA GPUs, and no driver that runs (", kDriverFile,
                     ")"),
        "install NVIDIA's driver, the open kernel module, or see `sudo dmesg | grep -i "
        "nvrm`");
    return;
  }
  const NvidiaDriver driver = ReadDriver(line);
  CheckDriver(machine, driver, findings);
  if (machine.has_efa()) {
    CheckPeerMemory(machine, driver, findings);
    CheckHelpers(machine, findings);
  }
  if (probes != nullptr) AskDriver(*probes, findings);
}

}  // namespace drydock::apps::doctor
