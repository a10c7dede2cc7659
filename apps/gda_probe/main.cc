// The gda_probe program: see README.md in this folder.

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/device_choice.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/gda/launcher.h"
#include "drydock/gpu/gda/queue/queue.h"
#include "drydock/gpu/gda/sim_pair.h"
#include "drydock/sim/profile/profile.h"
#include "nlohmann/json.hpp"

#ifdef DRYDOCK_HAVE_LIBFABRIC
#include "drydock/gpu/gda/libfabric_endpoint.h"
#endif

ABSL_FLAG(std::string, source, "auto",
          "Queue to map: sim (a simulated NIC's), libfabric (of an EFA NIC, fabric efa-direct), or "
          "auto, which is an EFA NIC's if libfabric offers one, else a simulated one's.");
ABSL_FLAG(std::string, device, "auto",
          "Device that maps it: host (a stand-in for a GPU), cuda:N, or auto, which is the first "
          "GPU or else host.");
ABSL_FLAG(std::string, nic, "",
          "With libfabric: name of the NIC; without it: the first. With auto: no simulated one.");
ABSL_FLAG(std::string, profile, "p5", "With sim: the simulated machine: p5, p5en, ...");
ABSL_FLAG(std::uint64_t, seed, 1, "With sim: seed of everything random in it.");

namespace drydock::apps::gda_probe {
namespace {

using namespace gpu::gda;  // NOLINT(build/namespaces)

const Usage kUsage = {
    .name = "gda_probe",
    .summary =
        "can a GPU drive this machine's EFA NIC by itself? Opens a queue, prints what it is, and "
        "maps its rings and doorbells into the device.",
    .synopsis = "[--source=auto|sim|libfabric] [--device=NAME] [--nic=NAME] [--json|--csv]",
    .examples =
        "  gda_probe                                        ends with: mappable, or why not\n"
        "  gda_probe --source=libfabric --device=cuda:0     the real NIC and GPU, or what is "
        "missing\n"
        "  gda_probe --source=sim --device=host             works everywhere\n"
        "\nExit status: 0 mappable, 1 not mappable, 2 there is no such queue or device."};

// A queue, and whatever keeps it open. Members die in reverse order.
struct Source {
  std::string nic;
  std::string kind;  // "simulated, profile p5", "libfabric 2.4, fabric efa-direct"
  std::string reason;
  MappedMemory memory = MappedMemory::kHost;  // what its rings of sends and doorbells are
  QueueView view;
  std::unique_ptr<SimPair> pair;
#ifdef DRYDOCK_HAVE_LIBFABRIC
  std::unique_ptr<LibfabricEndpoint> endpoint;
#endif
};

absl::StatusOr<Source> OpenSimulated(gpu::Device& device) {
  ASSIGN_OR_RETURN(const sim::Profile* const profile,
                   sim::FindProfile(absl::GetFlag(FLAGS_profile)));
  Source source;
  source.kind = absl::StrCat("simulated, profile ", absl::GetFlag(FLAGS_profile));
  source.pair = std::make_unique<SimPair>(*profile, absl::GetFlag(FLAGS_seed), device, device);
  RETURN_IF_ERROR(source.pair->Prepare(4096, BufferPlace::kDevice, RingMode::kMappedBell));
  source.nic = source.pair->nic().name;
  source.view = source.pair->queue()->View();
  return source;
}

absl::StatusOr<Source> OpenReal() {
#ifdef DRYDOCK_HAVE_LIBFABRIC
  Source source;
  ASSIGN_OR_RETURN(source.endpoint, LibfabricEndpoint::Open(absl::GetFlag(FLAGS_nic)));
  source.nic = source.endpoint->nic();
  source.kind = absl::StrCat(source.endpoint->library(), ", fabric efa-direct");
  source.memory = MappedMemory::kIo;
  source.view = source.endpoint->View();
  return source;
#else
  return absl::UnimplementedError("this program was built without libfabric");
#endif
}

absl::StatusOr<Source> OpenSource(gpu::Device& device) {
  const std::string which = absl::GetFlag(FLAGS_source);
  if (which == "libfabric") {
    RETURN_IF_ERROR(RefuseFlags({"profile", "seed"}, "is of a simulated NIC: with --source=sim"));
    return OpenReal();
  }
  if (which == "sim") {
    RETURN_IF_ERROR(RefuseFlags({"nic"}, "is of a real NIC: with --source=libfabric"));
    return OpenSimulated(device);
  }
  if (which != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--source=", which, " does not exist: auto, sim or libfabric"));
  }
  absl::StatusOr<Source> real = OpenReal();
  if (real.ok()) {
    RETURN_IF_ERROR(RefuseFlags({"profile", "seed"}, "is of a simulated NIC: with --source=sim"));
    return real;
  }
  // No other NIC in the place of one that was named.
  if (!absl::GetFlag(FLAGS_nic).empty()) return real;
  ASSIGN_OR_RETURN(Source simulated, OpenSimulated(device));
  simulated.reason = std::string(real.status().message());
  return simulated;
}

std::string Describe(const WorkRing& ring) {
  return absl::StrFormat("%d entries of %d B, at most %d between two doorbells", ring.entry_count,
                         ring.entry_bytes, ring.max_batch);
}

std::string Describe(const DoneRing& ring) {
  return absl::StrFormat("%d entries of %d B", ring.entry_count, ring.entry_bytes);
}

void PrintText(const Source& source, gpu::Device& device, const std::vector<MappedPiece>& pieces,
               bool mappable) {
  const auto row = [](const char* what, const std::string& text) {
    std::cout << absl::StreamFormat("%-12s%s\n", what, text);
  };
  row("nic", absl::StrCat(source.nic, " (", source.kind, ")"));
  if (!source.reason.empty()) row("because", source.reason);
  row("device", absl::StrCat(device.name(), " (", device.description(), ")"));
  row("send", Describe(source.view.send));
  row("receive", Describe(source.view.receive));
  row("send cq", Describe(source.view.send_done));
  row("receive cq", Describe(source.view.receive_done));
  row("ids", source.view.long_request_ids ? "64 bits" : "16 bits");
  for (const MappedPiece& piece : pieces) {
    row("map", absl::StrCat(piece.what, ", ", piece.bytes, " B: ",
                            piece.status.ok() ? "mapped" : std::string(piece.status.message())));
  }
  std::cout << (mappable ? "mappable\n" : "not mappable\n");
}

nlohmann::ordered_json ToJson(const WorkRing& ring) {
  return {{"entries", ring.entry_count},
          {"entry_bytes", ring.entry_bytes},
          {"max_batch", ring.max_batch}};
}

nlohmann::ordered_json ToJson(const DoneRing& ring) {
  return {{"entries", ring.entry_count}, {"entry_bytes", ring.entry_bytes}};
}

void PrintJson(const Source& source, gpu::Device& device, const std::vector<MappedPiece>& pieces,
               bool mappable) {
  nlohmann::ordered_json mapped = nlohmann::ordered_json::array();
  for (const MappedPiece& piece : pieces) {
    nlohmann::ordered_json one = {
        {"what", piece.what}, {"bytes", piece.bytes}, {"host", absl::StrFormat("%p", piece.host)}};
    if (piece.status.ok()) {
      one["device"] = absl::StrFormat("%p", piece.device);
    } else {
      one["error"] = std::string(piece.status.message());
    }
    mapped.push_back(std::move(one));
  }
  const nlohmann::ordered_json json = {{"nic", source.nic},
                                       {"source", source.kind},
                                       {"because", source.reason},
                                       {"device", device.name()},
                                       {"send", ToJson(source.view.send)},
                                       {"receive", ToJson(source.view.receive)},
                                       {"send_cq", ToJson(source.view.send_done)},
                                       {"receive_cq", ToJson(source.view.receive_done)},
                                       {"long_request_ids", source.view.long_request_ids},
                                       {"pieces", std::move(mapped)},
                                       {"mappable", mappable}};
  std::cout << json.dump(2) << "\n";
}

void PrintCsv(const std::vector<MappedPiece>& pieces) {
  ResultTable table("gda_probe", Origin::kFound, {{"what"}, {"bytes"}, {"mapped"}, {"error"}});
  for (const MappedPiece& piece : pieces) {
    table.AddRow({TextCell(piece.what), CountCell(piece.bytes), YesCell(piece.status.ok()),
                  TextCell(std::string(piece.status.message()))});
  }
  std::cout << ToCsv(table);
}

absl::StatusOr<int> Run(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument '", positional[0], "'"));
  }
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  ASSIGN_OR_RETURN(const DeviceChoice choice, ChooseDevice(absl::GetFlag(FLAGS_device)));
  ASSIGN_OR_RETURN(const Source source, OpenSource(*choice.device));
  // Dies before the queue: what it mapped is the queue's memory.
  ASSIGN_OR_RETURN(const std::unique_ptr<Launcher> launcher, OpenLauncher(*choice.device));
  // A simulated queue is mapped by its pair already, which a driver does once only.
  if (source.pair != nullptr) source.pair->launcher(0).Unmap();
  QueueView view = source.view;
  const std::vector<MappedPiece> pieces = MapPieces(*launcher, view, source.memory);
  bool mappable = true;
  for (const MappedPiece& piece : pieces) mappable = mappable && piece.status.ok();
  if (form == OutputForm::kCsv) {
    PrintCsv(pieces);
  } else {
    (form == OutputForm::kJson ? PrintJson : PrintText)(source, *choice.device, pieces, mappable);
  }
  return mappable ? kExitOk : kExitFailed;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<int> code = Run(ParseCommandLineOrExit(argc, argv, kUsage));
  return EndWith(kUsage.name, code);
}

}  // namespace
}  // namespace drydock::apps::gda_probe

int main(int argc, char** argv) { return drydock::apps::gda_probe::Main(argc, argv); }
