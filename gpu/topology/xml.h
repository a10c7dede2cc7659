// A reader for the little XML that hwloc writes: elements with attributes, comments anywhere.
//
// hwloc's own reader is not used. Without libxml2, which Debian's library lacks, it refuses files
// with comments, and files that are damaged can crash it: docs/decisions/0014-hwloc.md.

#ifndef DRYDOCK_GPU_TOPOLOGY_XML_H_
#define DRYDOCK_GPU_TOPOLOGY_XML_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::gpu::topology {

struct XmlElement {
  std::string name;
  int parent = -1;  // index of the element around it; -1: the root
  int line = 0;     // of the text, from 1
  std::vector<std::pair<std::string, std::string>> attributes;  // in the order of the text

  // Its value; null where there is no such attribute.
  const std::string* Find(absl::string_view attribute) const;
};

// Elements that are nested deeper are refused: no topology is.
inline constexpr int kMaxXmlDepth = 256;

// All elements, each after the one around it. Text between elements is ignored, as hwloc has none.
// kInvalidArgument: the text is not well-formed; the message has the line.
absl::StatusOr<std::vector<XmlElement>> ParseXml(absl::string_view text);

// Text as it stands in an attribute or an element: & < > " as references. Question marks stand for
// what XML cannot hold: control characters, U+FFFE, U+FFFF, and bytes that are no UTF-8.
std::string EscapeXml(absl::string_view text);

}  // namespace drydock::gpu::topology

#endif  // DRYDOCK_GPU_TOPOLOGY_XML_H_
