// The write program: see README.md in this folder.

#include "drydock/apps/common/command_line.h"
#include "drydock/apps/write/program.h"

namespace drydock::apps::write {
namespace {

const Usage kUsage = {
    "write",
    "a server makes random data and writes it into a client's memory; the client checks every "
    "byte.",
    "[--seed=N] [--profile=NAME [--provider=efa]]    both sides in one process, simulated\n"
    "--provider=NAME [--clients=N]                   a server: prints its address\n"
    "--provider=NAME ADDRESS [PAGE_SIZE NUM_PAGES]   a client of the server at ADDRESS\n"
    "--provider=NAME       started by srun --mpi=pmix, or by mpirun: all are clients of rank 0",
    "  write                                 ends with: Data is correct\n"
    "  write --seed=7 --profile=p5           another run, on the NICs of a p5.48xlarge\n"
    "  write --profile=p4d --provider=efa    whose NICs cannot write: the software protocol can\n"
    "  write --completion=last --seed=1      trusts the last write, as one must not on EFA\n"
    "  write --provider=tcp                  a server on this machine's network; its address goes\n"
    "  write --provider=tcp 02009f4d...      to a client, here or on another machine\n"
    "  write --provider=shm                  the same between processes of one machine\n"
    "  write --faults=plan.json              with what the plan lets go wrong (docs/faults.md)\n"
    "\nExit status: 0 data correct, 1 data wrong or transfer failed, 2 bad input."};

}  // namespace
}  // namespace drydock::apps::write

int main(int argc, char** argv) {
  const auto positional =
      drydock::apps::ParseCommandLineOrExit(argc, argv, drydock::apps::write::kUsage);
  return drydock::apps::write::RunProgram(drydock::apps::write::kUsage.name, positional, {});
}
