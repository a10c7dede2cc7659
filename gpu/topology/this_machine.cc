#include "drydock/gpu/topology/this_machine.h"

#include <hwloc.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/gpu/topology/hwloc_xml.h"

namespace drydock::gpu::topology {
namespace {

using Topology =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;

absl::Status Failed(absl::string_view what) {
  const int number = errno;
  return absl::InternalError(
      absl::StrCat("hwloc cannot ", what, " this machine: ", std::strerror(number)));
}

}  // namespace

// hwloc's XML is the one format that is read here, whether it comes from a file or from hwloc.
absl::StatusOr<Machine> DiscoverThisMachine() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return Failed("begin to look at");
  const Topology topology(raw, &hwloc_topology_destroy);
  // All devices, because the ones that hwloc calls important lack AWS Neuron.
  if (hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
      hwloc_topology_load(raw) != 0) {
    return Failed("look at");
  }
  char* xml = nullptr;
  int length = 0;  // with the null byte at the end
  if (hwloc_topology_export_xmlbuffer(raw, &xml, &length, 0) != 0) return Failed("describe");
  absl::StatusOr<Machine> machine =
      ReadHwlocXml(absl::string_view(xml, static_cast<std::size_t>(length) - 1));
  hwloc_free_xmlbuffer(raw, xml);
  return machine;
}

}  // namespace drydock::gpu::topology
