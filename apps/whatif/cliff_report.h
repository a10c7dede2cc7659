// What a search found, for a person and for scripts.

#ifndef DRYDOCK_APPS_WHATIF_CLIFF_REPORT_H_
#define DRYDOCK_APPS_WHATIF_CLIFF_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/whatif/confirm.h"
#include "drydock/apps/whatif/search.h"
#include "drydock/apps/whatif/space.h"

namespace drydock::apps::whatif {

struct CliffReport {
  Space space;
  std::string plain;  // the workload of the flags, in words
  std::uint64_t seed = 1;
  double depth = 0;
  double times = 0;
  Found found;
  std::vector<Confirmation> confirmations;  // of each cliff, or none at all
};

// "route crossing, page 16 KiB to 4 MiB": what the cliff needs.
std::string FeaturesOf(const Space& space, const Cliff& cliff);

std::string Render(const CliffReport& report, OutputForm form);
std::string ToSvg(const CliffReport& report);

}  // namespace drydock::apps::whatif

#endif  // DRYDOCK_APPS_WHATIF_CLIFF_REPORT_H_
