// The settings that efa-run gives the library about the device to simulate: environment variables,
// because the program in between knows nothing of either.

#ifndef DRYDOCK_SIM_VERBS_SETTINGS_H_
#define DRYDOCK_SIM_VERBS_SETTINGS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::verbs {

inline constexpr char kProfileVariable[] = "DRYDOCK_EFA_PROFILE";
inline constexpr char kNicsVariable[] = "DRYDOCK_EFA_NICS";
inline constexpr char kSeedVariable[] = "DRYDOCK_EFA_SEED";
inline constexpr char kFabricVariable[] = "DRYDOCK_EFA_FABRIC";
inline constexpr char kFaultsVariable[] = "DRYDOCK_EFA_FAULTS";
inline constexpr char kZoneVariable[] = "DRYDOCK_EFA_ZONE";
inline constexpr char kDelaysVariable[] = "DRYDOCK_EFA_DELAYS";
inline constexpr char kTraceVariable[] = "DRYDOCK_EFA_TRACE";
inline constexpr char kNetworkVariable[] = "DRYDOCK_EFA_NETWORK";
inline constexpr char kKeyVariable[] = "DRYDOCK_EFA_KEY";
inline constexpr char kFindingsVariable[] = "DRYDOCK_EFA_FINDINGS";
inline constexpr char kFindingsFileVariable[] = "DRYDOCK_EFA_FINDINGS_FILE";

// The number of the process that lives in virtual time, of ten digits: the environment is equally
// long in every run, and the stack equally high.
inline constexpr char kVirtualVariable[] = "DRYDOCK_EFA_VIRTUAL";
inline constexpr char kDigestVariable[] = "DRYDOCK_EFA_DIGEST";
// Of efa-run to itself: the path of a RunRecord (run_record.h).
inline constexpr char kRecordVariable[] = "DRYDOCK_EFA_RECORD";

// The treatment of findings: rules that a program breaks.
enum class FindingsMode : std::uint8_t {
  kOff,     // not looked for
  kReport,  // reported
  kFail,    // and a process that would have ended with exit status 0 ends with 1
};

struct Settings {
  std::string profile = "p5";  // by name or alias
  std::uint32_t nics = 0;      // 0: all of the profile
  std::uint64_t seed = 1;
  std::string fabric = "default";  // processes that name the same one share a network
  std::uint32_t zone = 0;  // availability zone of the machine: it reaches only those of its own
  bool delays = true;      // false: the profile is taken WithoutDelays (sim/profile/profile.h)
  std::string faults;      // file of a fault plan; empty: none
  std::string trace;       // file for the events; empty: none
  FindingsMode findings = FindingsMode::kOff;
  std::string findings_file;  // for the findings; empty: none
  std::string network;        // tcp://HOST:PORT; empty: the processes of this computer
  std::string key;            // file of that network's key
  // The process that lives in virtual time; 0: all live by the machine's clock.
  std::int32_t virtual_process = 0;
  bool digest = false;  // whether a process in virtual time says its digest when it ends
  std::string record;   // where a run in virtual time writes its results; empty: nowhere

  // `variable` returns null for one that is not set, as getenv. A network that is "tcp" is the
  // launcher's. kInvalidArgument: names the variable. Other codes: of NetworkOfLauncher.
  static absl::StatusOr<Settings> FromEnvironment(
      const std::function<const char*(const char*)>& variable);

  // The profile with so many NICs, and with its delays or without, as is asked for. kNotFound:
  // lists the profiles. kInvalidArgument: more NICs than it has.
  absl::StatusOr<Profile> MakeProfile() const;
};

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_SETTINGS_H_
