#include "drydock/apps/gpuloc/report.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/gpuloc/outline.h"
#include "drydock/gpu/topology/locality.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::gpuloc {
namespace {

using gpu::topology::Bridge;
using gpu::topology::CpuList;
using gpu::topology::Device;
using gpu::topology::FormatCpuList;
using gpu::topology::Locality;
using gpu::topology::Machine;
using gpu::topology::NearNics;
using gpu::topology::NumaNode;
using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string OrDash(std::string text) { return text.empty() ? "-" : text; }

// ---- The tree ----

// Columns that line up over the whole tree.
struct Widths {
  std::size_t title = 0;    // "GPU 0", with its indent
  std::size_t address = 0;  // "0000:53:00.0"
  std::size_t name = 0;

  void Include(const Widths& other) {
    title = std::max(title, other.title);
    address = std::max(address, other.address);
    name = std::max(name, other.name);
  }
};

bool IsDevice(const Outline& outline) {
  return outline.kind == Kind::kGpu || outline.kind == Kind::kNic;
}

const Device& DeviceOf(const Machine& machine, const Outline& outline) {
  return outline.kind == Kind::kGpu ? machine.gpus[outline.index] : machine.nics[outline.index];
}

constexpr std::size_t kIndent = 2;

Widths WidthsOf(const Machine& machine, const Outline& outline, std::size_t depth) {
  Widths widths;
  if (IsDevice(outline)) {
    const Device& device = DeviceOf(machine, outline);
    widths = {kIndent * depth + TitleOf(machine, outline).size(), device.pci_address.size(),
              device.name.size()};
  }
  for (const Outline& child : outline.children) {
    widths.Include(WidthsOf(machine, child, depth + 1));
  }
  return widths;
}

void AppendTree(const Machine& machine, const Outline& outline, const Widths& widths,
                std::size_t depth, std::string& text) {
  std::string line = std::string(kIndent * depth, ' ') + TitleOf(machine, outline);
  if (IsDevice(outline)) {
    const Device& device = DeviceOf(machine, outline);
    line.resize(std::max(line.size(), widths.title), ' ');
    const std::string link = device.pcie_gbytes_per_s > 0
                                 ? FormatGbytesPerSecond(device.pcie_gbytes_per_s)
                                 : std::string();
    line = absl::StrFormat("%s  %-*s  %-*s  %s", line, widths.address, device.pci_address,
                           widths.name, device.name, link);
    line.erase(line.find_last_not_of(' ') + 1);
  }
  absl::StrAppend(&text, line, "\n");
  for (const Outline& child : outline.children) {
    AppendTree(machine, child, widths, depth + 1, text);
  }
}

std::string Tree(const Machine& machine) {
  const Outline root = OutlineOf(machine);
  Widths widths;
  for (const Outline& child : root.children) widths.Include(WidthsOf(machine, child, 0));
  std::string text;
  for (const Outline& child : root.children) AppendTree(machine, child, widths, 0, text);
  return text;
}

// ---- The matrix ----

// By GPU, what a NIC is to it.
std::vector<Locality> Column(const Machine& machine, std::size_t nic) {
  std::vector<Locality> column;
  for (const Device& gpu : machine.gpus) {
    column.push_back(LocalityOf(machine, gpu, machine.nics[nic]));
  }
  return column;
}

std::string CellOf(Locality locality) {
  switch (locality) {
    case Locality::kSameSwitch:
      return "switch";
    case Locality::kSameHostBridge:
      return "bridge";
    case Locality::kSameNumaNode:
      return "node";
    case Locality::kOther:
      break;
  }
  return "other";
}

// NICs in a row that are alike to every GPU share a column.
std::string Matrix(const Machine& machine) {
  std::vector<std::vector<Locality>> columns;
  std::vector<std::vector<int>> nics;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    std::vector<Locality> column = Column(machine, i);
    if (columns.empty() || columns.back() != column) {
      columns.push_back(std::move(column));
      nics.emplace_back();
    }
    nics.back().push_back(static_cast<int>(i));
  }
  Rows rows = {{""}};
  for (const std::vector<int>& alike : nics) {
    rows.front().push_back(absl::StrCat("NIC ", FormatIndices(alike)));
  }
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    rows.push_back({absl::StrCat("GPU ", gpu)});
    for (const auto& column : columns) rows.back().push_back(CellOf(column[gpu]));
  }
  return absl::StrCat(
      FormatTable(rows),
      "\nswitch: the way is PCIe switches only; bridge: a host bridge; node: several of one NUMA "
      "node;\nother: the link between NUMA nodes, or the machine does not tell.\n");
}

// ---- What belongs together ----

// The CPUs of several NICs' shares.
CpuList Together(const std::vector<CpuList>& shares, const std::vector<int>& nics) {
  CpuList cpus;
  for (const int nic : nics) cpus.insert(cpus.end(), shares[nic].begin(), shares[nic].end());
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string Pairs(const Machine& machine) {
  const std::vector<std::vector<int>> pairs = PairNics(machine);
  const std::vector<CpuList> shares = ShareCpus(machine);
  Rows rows = {{"GPU", "model", "nearest NICs", "because", "use NICs", "with CPUs"}};
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const NearNics nearest = NearestNics(machine, machine.gpus[i]);
    rows.push_back({absl::StrCat(i), machine.gpus[i].name, FormatIndices(nearest.nics),
                    std::string(NameOf(nearest.locality)), FormatIndices(pairs[i]),
                    OrDash(FormatCpuList(Together(shares, pairs[i])))});
  }
  return FormatTable(rows);
}

std::string NicsAndCpus(const Machine& machine) {
  const std::vector<CpuList> shares = ShareCpus(machine);
  Rows rows = {{"NIC", "name", "nearest CPUs", "its share"}};
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    rows.push_back({absl::StrCat(i), machine.nics[i].name,
                    OrDash(FormatCpuList(NearestCpus(machine, machine.nics[i]))),
                    OrDash(FormatCpuList(shares[i]))});
  }
  return FormatTable(rows);
}

// The NICs that no GPU is nearest to: they are there for the CPUs.
std::string LeftOver(const Machine& machine) {
  std::vector<int> left;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) left.push_back(static_cast<int>(i));
  for (const Device& gpu : machine.gpus) {
    const NearNics nearest = NearestNics(machine, gpu);
    std::erase_if(left, [&](int nic) {
      return std::binary_search(nearest.nics.begin(), nearest.nics.end(), nic);
    });
  }
  if (left.empty()) return "";
  return absl::StrCat("\nNo GPU has NIC ", FormatIndices(left), " among its nearest.\n");
}

std::string WhatLacks(const Machine& machine) {
  const char* what = !machine.gpus.empty()   ? "no NIC with RDMA"
                     : !machine.nics.empty() ? "no GPU"
                                             : "no GPU and no NIC with RDMA";
  return absl::StrCat("There are no pairs of a GPU and a NIC: this machine has ", what, ".\n");
}

// ---- JSON ----

Json DeviceJson(const Device& device, int index) {
  return {{"index", index},
          {"name", device.name},
          {"pci_address", device.pci_address},
          {"vendor_device_id", device.vendor_device_id},
          {"bridge", device.bridge},
          {"numa_node", device.numa_node},
          {"pcie_gbytes_per_s", device.pcie_gbytes_per_s}};
}

Json NicsJson(const Machine& machine) {
  const std::vector<CpuList> shares = ShareCpus(machine);
  Json json = Json::array();
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    json.push_back(DeviceJson(machine.nics[i], static_cast<int>(i)));
    json.back()["nearest_cpus"] = FormatCpuList(NearestCpus(machine, machine.nics[i]));
    json.back()["cpus"] = FormatCpuList(shares[i]);
  }
  return json;
}

Json GpusJson(const Machine& machine) {
  const std::vector<std::vector<int>> pairs = PairNics(machine);
  Json json = Json::array();
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const NearNics nearest = NearestNics(machine, machine.gpus[i]);
    json.push_back(DeviceJson(machine.gpus[i], static_cast<int>(i)));
    json.back()["nearest_nics"] = nearest.nics;
    json.back()["locality"] = nearest.nics.empty() ? "" : std::string(NameOf(nearest.locality));
    json.back()["nics"] = pairs[i];
  }
  return json;
}

Json MatrixJson(const Machine& machine) {
  Json json = Json::array();
  for (const Device& gpu : machine.gpus) {
    Json row = Json::array();
    for (const Device& nic : machine.nics) {
      row.push_back(std::string(NameOf(LocalityOf(machine, gpu, nic))));
    }
    json.push_back(std::move(row));
  }
  return json;
}

Json BridgeJson(const Bridge& bridge) {
  return {{"kind", bridge.is_switch() ? "switch" : "host bridge"},
          {"parent", bridge.parent},
          {"upstream_port", bridge.upstream_port},
          {"buses", bridge.buses},
          {"numa_node", bridge.numa_node},
          {"upstream_gbytes_per_s", bridge.upstream_gbytes_per_s}};
}

}  // namespace

std::string FormatIndices(const std::vector<int>& indices) {
  return OrDash(FormatCpuList(indices));
}

std::string FormatReport(const MachineChoice& choice) {
  const Machine& machine = choice.machine;
  const auto line = [](absl::string_view label, absl::string_view text) {
    return text.empty() ? "" : absl::StrFormat("%-9s%s\n", label, text);
  };
  std::string text = absl::StrCat(line("machine", machine.name), line("from", choice.source),
                                  line("has", SummaryOf(machine)), "\n", Tree(machine));
  if (machine.gpus.empty() || machine.nics.empty()) {
    absl::StrAppend(&text, "\n", WhatLacks(machine));
  } else {
    absl::StrAppend(&text, "\n", Matrix(machine), "\n", Pairs(machine), LeftOver(machine));
  }
  if (!machine.nics.empty()) absl::StrAppend(&text, "\n", NicsAndCpus(machine));
  return text;
}

std::string FormatJson(const MachineChoice& choice) {
  const Machine& machine = choice.machine;
  Json json;
  json["machine"] = machine.name;
  json["source"] = choice.source;
  json["cpus"] = FormatCpuList(machine.cpus);
  json["numa_nodes"] = Json::array();
  for (const NumaNode& node : machine.numa_nodes) {
    json["numa_nodes"].push_back({{"number", node.number},
                                  {"cpus", FormatCpuList(node.cpus)},
                                  {"memory_bytes", node.memory_bytes}});
  }
  json["bridges"] = Json::array();
  for (const Bridge& bridge : machine.bridges) json["bridges"].push_back(BridgeJson(bridge));
  json["gpus"] = GpusJson(machine);
  json["nics"] = NicsJson(machine);
  json["localities"] = MatrixJson(machine);
  // A file's path need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string FormatCsv(const MachineChoice& choice) {
  const Machine& machine = choice.machine;
  const std::vector<std::vector<int>> pairs = PairNics(machine);
  ResultTable table("gpuloc", Origin::kFound,
                    {{"gpu"},
                     {"gpu_pci_address"},
                     {"gpu_numa_node"},
                     {"nic"},
                     {"nic_name"},
                     {"nic_pci_address"},
                     {"nic_numa_node"},
                     {"locality"},
                     {"use"}});
  for (std::size_t g = 0; g < machine.gpus.size(); ++g) {
    const Device& gpu = machine.gpus[g];
    for (std::size_t n = 0; n < machine.nics.size(); ++n) {
      const Device& nic = machine.nics[n];
      const bool use =
          std::find(pairs[g].begin(), pairs[g].end(), static_cast<int>(n)) != pairs[g].end();
      table.AddRow({CountCell(g), TextCell(gpu.pci_address), SignedCell(gpu.numa_node),
                    CountCell(n), TextCell(nic.name), TextCell(nic.pci_address),
                    SignedCell(nic.numa_node),
                    TextCell(std::string(NameOf(LocalityOf(machine, gpu, nic)))), YesCell(use)});
    }
  }
  return ToCsv(table);
}

}  // namespace drydock::apps::gpuloc
