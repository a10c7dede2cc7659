// Text of a file or of a peer, for a line that a person reads: it may hold anything, and must not
// break the line or steer a terminal.

#ifndef DRYDOCK_FABRIC_PRINTABLE_H_
#define DRYDOCK_FABRIC_PRINTABLE_H_

#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace drydock::fabric {

// The first `most` bytes of the text; '?' in place of what is no printable character of ASCII.
inline std::string Printable(absl::string_view text, std::size_t most = absl::string_view::npos) {
  std::string printable(text.substr(0, most));
  for (char& letter : printable) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(letter))) letter = '?';
  }
  return printable;
}

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_PRINTABLE_H_
