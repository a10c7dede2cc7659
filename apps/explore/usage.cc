#include "drydock/apps/explore/usage.h"

namespace drydock::apps {

const Usage kExploreUsage = {
    "explore",
    "runs a scenario with many seeds, each with its own faults, and reports the seeds that fail.",
    "[--scenario=NAME] [--seeds=N] [--faults=swarm|none|FILE]   many seeds; swarm is the default\n"
    "--scenario=NAME [--faults=...] --seed=N                    one seed, in full\n"
    "--strategy=exhaustive [--seed=N] [--max-runs=N]            all orders of one seed\n"
    "--profile-sweep [--scenario=NAME] [--faults=none]          other time-outs and delays\n"
    "--sweep [--scenario=NAME]                                  every fault at every place\n"
    "--corpus=FOLDER [--scenario=NAME] [--seeds=N]              seeds that learn from each other\n"
    "--replay=FILE                                              a capsule: what failed, again\n"
    "--shrink=FILE [--out=FILE] [--picture=FILE]                the same, as small as it can be\n"
    "--shard=i/n --results=FOLDER                               one part of the seeds, of many "
    "machines\n"
    "merge FILE|FOLDER...                                       the report of all parts\n"
    "--list                                                     the scenarios",
    "  explore                                       the write program, 1000 seeds of the swarm\n"
    "  explore --scenario=write-last --seeds=100     finds a protocol that is wrong on EFA\n"
    "  explore --scenario=write-last --seed=1        one of those seeds: its faults, its verdict\n"
    "  explore --scenario=barrier --faults=none      no fault at all\n"
    "  explore --faults=plan.json --json             the same plan for all seeds, for a script\n"
    "  explore --strategy=pct:3                      another search: orders that are rare\n"
    "  explore --scenario=write-last --faults=none --strategy=exhaustive   all orders\n"
    "  explore --require-covered=FILE                fails when the seeds saw too little\n"
    "  explore --sweep --scenario=ping-pong          every status of the device at every place\n"
    "  explore --shrink=/tmp/drydock-capsules-1000/write-last-1-wrong-data.capsule\n"
    "  explore --scenario=write-last --seed=1 --trace=seed1.html   that run, as a picture\n"
    "  explore --profile-sweep --scenario=failover --faults=none   right only for a guess of ours\n"
    "  explore --corpus=corpus --seeds=20000 --first-seed=$(date +%s)00000   each night from "
    "where\n"
    "                                          the last one ended: bugs behind several faults\n"
    "  explore --seeds=1000000 --shard=3/16 --results=parts   the same in each task of an array "
    "...\n"
    "  explore merge parts                           ... and then once: what they came to, "
    "together\n"
    "\nVerdicts. Fine: correct; clean-error (it said so, and a fault had happened). Failures:\n"
    "unexplained-error (no fault had happened), wrong-data, hang, finding (it broke a rule of\n"
    "RDMA), nondeterministic (two runs of the seed differ), crash.\n"
    "\nExit status: 0 all fine, 1 a seed failed, a run of the corpus fails now, a rule of FILE "
    "never\n"
    "fired or something required was not covered, 2 bad input. With --replay: 1 when the verdict "
    "is a failure now; with\n"
    "--shrink: 1 when there is nothing to shrink; merge: 1 also when seeds are missing."};

}  // namespace drydock::apps
