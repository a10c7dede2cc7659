#include "drydock/apps/efa_run/say.h"

#include <cstddef>
#include <cstdio>

namespace drydock::apps {

std::string Printable(absl::string_view text) {
  std::string printable(text);
  for (std::size_t i = 0; i < printable.size(); ++i) {
    const auto byte = static_cast<unsigned char>(printable[i]);
    const auto before = static_cast<unsigned char>(i == 0 ? 0 : printable[i - 1]);
    const bool c0 = (byte < ' ' && byte != '\n') || byte == 0x7f;
    const bool c1 = before == 0xc2 && byte >= 0x80 && byte < 0xa0;  // as UTF-8
    if (c1) printable[i - 1] = '?';
    if (c0 || c1) printable[i] = '?';
  }
  return printable;
}

void Say(absl::string_view line) { std::fprintf(stderr, "efa-run: %s\n", Printable(line).c_str()); }

}  // namespace drydock::apps
