// efa-run: runs any libfabric program on simulated EFA. See --help and docs/efa-run.md.

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/common/callers_folder.h"
#include "drydock/apps/efa_run/capsules.h"
#include "drydock/apps/efa_run/many_seeds.h"
#include "drydock/apps/efa_run/request.h"
#include "drydock/apps/efa_run/say.h"
#include "drydock/apps/efa_run/start.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps {
namespace {

constexpr char kHelp[] =
    R"(Runs a program on simulated EFA: libfabric's own provider `efa`, over NICs that are not there.

  efa-run [FLAGS] PROGRAM [ARGUMENT...]
  efa-run --replay=FILE
  efa-run --shrink=FILE [--out=FILE] [--picture=FILE]

Processes that are started with the same --fabric, --seed and --profile reach each other; those of several computers,
containers or network namespaces with the same --network, too.

Examples:
  efa-run fi_info -p efa                                the NICs that the program sees
  efa-run fi_pingpong -p efa -e rdm -c &                two processes, which are two machines
  efa-run fi_pingpong -p efa -e rdm -c 127.0.0.1
  efa-run --nics=4 --faults=plan.json ./my_program      what goes wrong (docs/faults.md)
  efa-run --trace=out.json ./my_program                 what the NICs did, for ui.perfetto.dev
  efa-run --findings=fail ./my_program                  what the program does wrong (docs/checks.md)
  efa-run --seeds=1..1000 --faults=plan.json --capsule=failed ./my_test   which seeds fail, and a file of each kind
  efa-run --network=tcp://10.0.0.1:7471 fi_pingpong -p efa -e rdm -c             on 10.0.0.1, which makes the key
  efa-run --network=tcp://10.0.0.1:7471 fi_pingpong -p efa -e rdm -c 10.0.0.1    on 10.0.0.2, with a copy of it

Flags:
  --profile=NAME   the kind of machine (default p5): )";

constexpr char kMoreHelp[] = R"(
  --nics=N         only the first N of its NICs (default, and 0: all)
  --seed=N         of everything random (default 1)
  --fabric=NAME    the network that the program joins (default: default)
  --zone=N         the availability zone of the machine (default 0): another one cannot be reached
  --delays=off     nothing takes the time that it takes on EFA (default on): for tests that only have to be fast
  --network=tcp://HOST:PORT   where computers meet: the first program on HOST serves there, until the last has ended;
                   --network=tcp is the host of Open MPI 4's mpirun, or the first one of Slurm's step
  --key=FILE       a program that has it may join the network (default ~/.drydock-efa-key); HOST makes it where it is missing
  --faults=FILE    a fault plan in JSON, for the NICs of this process
  --trace=FILE     writes what each process did to FILE, its process number before the extension, when it ends
  --findings=MODE  rules of EFA that the program breaks (docs/checks.md), a line each on standard error, with the calls that
                   led there: report (default) prints them; fail prints them, and a process that would have ended with exit
                   status 0 ends with 1; off does not look
  --findings-file=FILE  writes those of each process to FILE, in JSON, its process number before the extension, when it ends
  --topology       hwloc shows the program the profile's machine instead of this one (HWLOC_XMLFILE): for plugins that
                   choose NICs by it; not for mpirun, which then finds none of its processors
  --sysfs          /sys itself shows the program, and all that it starts, the machine's NICs and its type, and no others in
                   class/infiniband and class/infiniband_verbs: for plugins that read it; takes CAP_SYS_ADMIN, or user
                   namespaces that this user may have
  --virtual        the program lives in virtual time: its clock follows the simulated network, its waits take no time, and a
                   run is one function of its seed; for programs of one process and one thread, others are refused
  --digest         the same, and says at the end what the run came to: one line of 32 hexadecimal digits
  --seeds=A..B     the same, for each of these seeds, as many at a time as there are processors; says what the first to fail
                   says, how to run it again, and which ones failed; exit status 1 when one did. A finding fails a run, unless
                   --findings says otherwise. Runs have no standard input
  --capsule=DIR    with --seeds: leaves in DIR, which is made, a file with the whole run of one seed for each way to fail:
                   each exit status, signal and broken rule, and a hang
  --replay=FILE    says which program that is, runs it again, and says whether it was the same run; exit status 1 when
                   the run, the program or a library is another one
  --shrink=FILE    runs it with fewer and fewer faults and delays while it fails in the same way, tells what is left, and
                   writes it to --out=FILE (default: FILE.min); --picture=FILE draws it (SVG)
  --patience=SECONDS  with --seeds, --replay and --shrink: the machine's time that one run may take (default 600); a run that
                   takes longer is ended, and has failed
  --limit=SECONDS  virtual time that a run may take (default 3600): one that takes longer hangs, and ends with exit status 124
  --quiet          does not say what is simulated
  --help           this

Unless they are set: FI_EFA_ENABLE_SHM_TRANSFER=0, so that endpoints of one computer use NICs at all;
FI_EFA_USE_DEVICE_RDMA=1 where the NICs can read; FI_EFA_USE_DATA_PATH_DIRECT=0, because a doorbell in memory is seen late
where there are fewer processors than polling threads. What it sets, and what that costs: docs/efa-run.md.

The simulated NICs move bytes between memory of the host; what the simulation does not model: docs/fidelity.md.
Exit status: the program's, or 1 with --findings=fail; 124 for a hang in virtual time; 2 when it could not be run, with one line that says why.
)";

void PrintHelp() {
  std::fputs(kHelp, stdout);
  const char* separator = "";
  for (const sim::Profile& profile : sim::Profiles()) {
    std::printf("%s%s", separator, profile.name.c_str());
    separator = ", ";
  }
  std::fputs(kMoreHelp, stdout);
}

// Returns the exit status, if this process does not become the program.
absl::StatusOr<int> Main(int count, char** words) {
  ASSIGN_OR_RETURN(const Request request, ParseRequest(count, words));
  if (request.help) {
    PrintHelp();
    return 0;
  }
  RETURN_IF_ERROR(GoToCallersFolder());
  if (!request.replay.empty()) return ReplayProgram(request);
  if (!request.shrink.empty()) return ShrinkProgram(request);
  if (request.seeds.has_value()) return RunAllSeeds(request);
  return Start(request);
}

}  // namespace
}  // namespace drydock::apps

int main(int count, char** words) {
  const absl::StatusOr<int> status = drydock::apps::Main(count, words);
  if (status.ok()) return *status;
  drydock::apps::Say(status.status().message());
  return 2;
}
