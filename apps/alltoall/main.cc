// The alltoall program: see README.md in this folder.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/alltoall/member.h"
#include "drydock/apps/alltoall/report.h"
#include "drydock/apps/alltoall/rounds.h"
#include "drydock/apps/alltoall/workload.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/ranks/launch.h"
#include "drydock/apps/common/ranks/launched_ranks.h"
#include "drydock/apps/common/ranks/local_ranks.h"
#include "drydock/apps/common/ranks/ranks.h"
#include "drydock/apps/common/ranks/tcp_ranks.h"
#include "drydock/apps/common/session/session.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/tcp.h"

ABSL_FLAG(std::uint64_t, machines, 4,
          "Ranks, a machine each. Rank 0 says it for all; a launcher knows it by itself.");
ABSL_FLAG(std::uint64_t, nics, 2,
          "NICs of each machine. Where the provider has software NICs, endpoints that share one.");
ABSL_FLAG(std::uint64_t, tokens, 64, "Tokens of each rank; with --routing=skewed at most.");
ABSL_FLAG(std::uint64_t, top_k, 4, "Experts that each token goes to.");
ABSL_FLAG(std::uint64_t, experts, 4, "Experts of each rank.");
ABSL_FLAG(std::string, bytes, "1KiB", "Bytes of a token, a multiple of 4: 7168, 14KiB.");
ABSL_FLAG(std::uint64_t, rounds, 3, "Rounds of dispatch and combine.");
ABSL_FLAG(std::string, routing, "skewed",
          "Which experts tokens go to. uniform: any is as likely; skewed: ranks have different "
          "numbers of tokens, one has none, and low experts are hot; one: all to expert 0.");
ABSL_FLAG(bool, rail_aligned, true,
          "NIC i writes to NIC i of its peers only, as where each rail is a network of its own. "
          "Otherwise any NIC writes to any.");
ABSL_FLAG(bool, in_place, false,
          "A rank writes its answers over the tokens that came, and sends them from there.");
ABSL_FLAG(std::uint64_t, window, 128,
          "Rows of a NIC under way; less where peers' completion queues are short.");
ABSL_FLAG(std::string, late, "",
          "RANK:MILLISECONDS: this rank comes so much later to each round than it could.");
ABSL_FLAG(double, timeout, 100,
          "Seconds that each phase of a round may take (simulated: of simulated time), and that "
          "ranks wait for each other at the beginning and at the end.");
ABSL_FLAG(std::string, listen, "127.0.0.1:0",
          "The TCP address where rank 0 waits for the others; port 0: any free port.");

namespace drydock::apps::alltoall {
namespace {

const Usage kUsage = {
    .name = "alltoall",
    .summary =
        "tokens of every machine go to experts on all machines and come back, as in a mixture of "
        "experts: dispatch and combine by all NICs, checked to the bit.",
    .synopsis =
        "[--machines=N] [--nics=M] [...]              all machines in this process, simulated\n"
        "--provider=NAME --machines=N [--listen=HOST:PORT]   rank 0: prints where the others meet "
        "it\n"
        "--provider=NAME HOST:PORT [...]              another rank, with the same flags\n"
        "--provider=NAME [...]                        started by srun --mpi=pmix, or by mpirun: "
        "one "
        "of its ranks",
    .examples =
        "  alltoall                                   4 machines of 2 NICs, 3 rounds\n"
        "  alltoall --profile=p5 --machines=8 --nics=32 --tokens=128 --bytes=7168\n"
        "  alltoall --norail-aligned --in-place       any NIC to any; answers over the tokens\n"
        "  alltoall --routing=one                     incast: everything to one rank\n"
        "  alltoall --late=2:5                        rank 2 comes 5 ms late: all wait for it\n"
        "  alltoall --faults=nic_dies.json            rows of a NIC that dies go by another\n"
        "  alltoall --provider=tcp --machines=3 &     prints: meet      127.0.0.1:40123\n"
        "  alltoall --provider=tcp 127.0.0.1:40123 &  rank 1\n"
        "  alltoall --provider=tcp 127.0.0.1:40123    rank 2\n"
        "  srun --mpi=pmix -n 8 alltoall --provider=tcp      8 ranks of a job of Slurm\n"
        "  mpirun -n 8 alltoall --provider=tcp               the same by Open MPI\n"
        "\nExit status: 0 all results are right, 1 one is not, or the run failed, 2 bad input."};

struct Settings {
  Workload workload;
  MemberOptions member;
  std::optional<std::size_t> late_rank;
  coro::Duration late{};
};

absl::Status BadInput(const std::string& why) { return absl::InvalidArgumentError(why); }

absl::StatusOr<std::uint32_t> InRange(const char* flag, std::uint64_t value, std::uint64_t least,
                                      std::uint64_t most) {
  if (value >= least && value <= most) return static_cast<std::uint32_t>(value);
  return BadInput(absl::StrCat("--", flag, "=", value, " is not between ", least, " and ", most));
}

absl::Status ReadLate(Settings& settings) {
  const std::string late = absl::GetFlag(FLAGS_late);
  if (late.empty()) return absl::OkStatus();
  const std::vector<std::string> parts = absl::StrSplit(late, ':');
  std::uint64_t rank = 0, milliseconds = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &rank) ||
      !absl::SimpleAtoi(parts[1], &milliseconds) || milliseconds > 3'600'000) {
    return BadInput(absl::StrCat("--late=", late, " is not RANK:MILLISECONDS, an hour at most"));
  }
  settings.late_rank = rank;
  settings.late = std::chrono::milliseconds(milliseconds);
  return absl::OkStatus();
}

absl::StatusOr<Settings> SettingsFromFlags() {
  Settings settings;
  MoeShape& shape = settings.workload.shape;
  ASSIGN_OR_RETURN(shape.ranks,
                   InRange("machines", absl::GetFlag(FLAGS_machines), 1, Member::kMostRanks));
  ASSIGN_OR_RETURN(shape.tokens, InRange("tokens", absl::GetFlag(FLAGS_tokens), 1, 65536));
  ASSIGN_OR_RETURN(shape.top_k, InRange("top-k", absl::GetFlag(FLAGS_top_k), 1, 64));
  ASSIGN_OR_RETURN(shape.experts_per_rank,
                   InRange("experts", absl::GetFlag(FLAGS_experts), 1, 1024));
  ASSIGN_OR_RETURN(settings.workload.rounds,
                   InRange("rounds", absl::GetFlag(FLAGS_rounds), 1, 1'000'000));
  ASSIGN_OR_RETURN(settings.member.nics, InRange("nics", absl::GetFlag(FLAGS_nics), 1,
                                                 fabric::async::transfer::kMostNics));
  ASSIGN_OR_RETURN(settings.member.window,
                   InRange("window", absl::GetFlag(FLAGS_window), 1, 32768));
  const absl::StatusOr<std::uint64_t> bytes = ParseBytes(absl::GetFlag(FLAGS_bytes));
  if (!bytes.ok()) return BadInput(absl::StrCat("--bytes=", bytes.status().message()));
  if (*bytes % 4 != 0 || *bytes > 1 << 20) {
    return BadInput(absl::StrCat("--bytes=", absl::GetFlag(FLAGS_bytes),
                                 " is no multiple of 4 between 4 and 1 MiB"));
  }
  shape.words = static_cast<std::uint32_t>(*bytes / 4);
  ASSIGN_OR_RETURN(settings.workload.routing, ParseRouting(absl::GetFlag(FLAGS_routing)));
  settings.workload.seed = BackendOptionsFromFlags().seed;
  settings.member.rail_aligned = absl::GetFlag(FLAGS_rail_aligned);
  settings.member.in_place = absl::GetFlag(FLAGS_in_place);
  ASSIGN_OR_RETURN(settings.member.timeout, ParseTimeout(absl::GetFlag(FLAGS_timeout)));
  RETURN_IF_ERROR(ReadLate(settings));
  return settings;
}

// How many ranks there are is known.
absl::Status CheckLate(const Settings& settings) {
  if (settings.late_rank.value_or(0) < settings.workload.shape.ranks) return absl::OkStatus();
  return BadInput(absl::StrCat("--late=", absl::GetFlag(FLAGS_late), ": there is no rank ",
                               *settings.late_rank));
}

absl::StatusOr<std::unique_ptr<Member>> OpenMember(Session& session, coro::EventLoop& loop,
                                                   const Settings& settings, std::size_t rank) {
  RETURN_IF_ERROR(CheckLate(settings));
  ASSIGN_OR_RETURN(Machine machine, session.OpenMachine(absl::StrCat("rank", rank)));
  MemberOptions options = settings.member;
  options.first_nic = machine.nic;
  if (rank == settings.late_rank) options.late = settings.late;
  return Member::Open(loop, std::move(machine.fabric), settings.workload, rank, options);
}

void SayLoad(Session& session, const Settings& settings) {
  const MoeShape& shape = settings.workload.shape;
  session.SayScene(
      {{"ranks",
        absl::StrCat(shape.ranks, ", ", FormatCount(settings.member.nics, "NIC"), " each, ",
                     settings.member.rail_aligned ? "rail-aligned" : "any NIC to any")},
       {"load", absl::StrCat(FormatCount(shape.tokens, "token"), " of ",
                             FormatBytes(std::uint64_t{shape.words} * 4), " on each, ", shape.top_k,
                             " of ", std::uint64_t{shape.ranks} * shape.experts_per_rank,
                             " experts, ", Name(settings.workload.routing), " routing",
                             settings.member.in_place ? ", in place" : "")}});
}

RoundsOptions RoundsOf(Session& session, coro::EventLoop& loop, const Settings& settings) {
  RoundsOptions options;
  options.timeout = settings.member.timeout;
  session.console().BeginProgress({"rounds", settings.workload.rounds});
  const coro::Time began = loop.Now();
  options.progress = [&session, &loop, began](std::uint32_t done) {
    session.console().ShowProgress(done, loop.Now() - began);
  };
  return options;
}

// Every rank is here, in a simulated world.
absl::StatusOr<int> RunHere(Session& session, Settings settings) {
  settings.member.all_here = true;
  RETURN_IF_ERROR(RefuseFlags({"listen"}, "is for ranks that are processes: here all are in one"));
  coro::EventLoop loop(session.clock());
  const std::vector<std::unique_ptr<Ranks>> ranks = MakeLocalRanks(settings.workload.shape.ranks);
  std::vector<std::unique_ptr<Member>> members;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ASSIGN_OR_RETURN(members.emplace_back(), OpenMember(session, loop, settings, rank));
  }
  SayLoad(session, settings);
  const absl::StatusOr<Results> results =
      loop.Run(PlayAll(members, ranks, RoundsOf(session, loop, settings)));
  session.console().EndProgress();
  RETURN_IF_ERROR(results.status());
  session.EndRun();
  return Report(session.console(), *results, settings.workload.rounds, session.scene());
}

// By the launcher, if one started this process; otherwise rank 0 says where it is and waits, and the
// others go there. With an address, a launcher only says which rank this is.
absl::StatusOr<std::unique_ptr<Ranks>> Meet(Session& session, coro::EventLoop& loop,
                                            coro::EpollSelector& io, const Settings& settings,
                                            const std::vector<std::string>& positional) {
  const coro::Time deadline = coro::After(loop.Now(), settings.member.timeout);
  if (!positional.empty()) {
    RETURN_IF_ERROR(RefuseFlags({"listen"}, "is for rank 0, which takes no address"));
  }
  const std::optional<Launch> launch = FindLaunch();
  if (positional.empty() && launch.has_value()) {
    RETURN_IF_ERROR(RefuseFlags({"listen"}, "is for processes that nobody started together"));
    return JoinLaunch(*launch);
  }
  std::string at = absl::GetFlag(FLAGS_listen);
  std::size_t ranks = settings.workload.shape.ranks;
  if (!positional.empty()) {
    ASSIGN_OR_RETURN(const coro::TcpAddress to, coro::TcpAddress::Resolve(positional.front()));
    const std::size_t rank = launch.has_value() ? launch->rank : kAnyRank;
    if (rank != 0) return loop.Run(MeetAt(io, to, rank, deadline));
    at = positional.front();
    ranks = launch->size;
  }
  ASSIGN_OR_RETURN(const coro::TcpAddress here, coro::TcpAddress::Resolve(at));
  ASSIGN_OR_RETURN(TcpHost host, TcpHost::Listen(io, here, ranks));
  session.console().Say("meet", host.address().ToString());
  return loop.Run(host.Meet(deadline));
}

// This process is one rank.
absl::StatusOr<int> RunOne(Session& session, Settings settings,
                           const std::vector<std::string>& positional) {
  coro::EventLoop loop(session.clock());
  ASSIGN_OR_RETURN(const auto io, coro::EpollSelector::Open(loop));
  ASSIGN_OR_RETURN(const std::unique_ptr<Ranks> ranks,
                   Meet(session, loop, *io, settings, positional));
  settings.workload.shape.ranks = static_cast<std::uint32_t>(ranks->size());
  const absl::StatusOr<std::unique_ptr<Member>> member =
      OpenMember(session, loop, settings, ranks->rank());
  const bool speaks = ranks->rank() == 0;
  if (speaks && member.ok()) SayLoad(session, settings);
  // A rank that cannot go on holds up no other.
  const auto ready = member.ok() ? absl::StatusOr<std::string>("") : member.status();
  const coro::Time deadline = coro::After(loop.Now(), settings.member.timeout);
  RETURN_IF_ERROR(loop.Run(ranks->AllGatherText(ready, deadline)).status());
  RoundsOptions options;
  options.timeout = settings.member.timeout;
  if (speaks) options = RoundsOf(session, loop, settings);
  const absl::StatusOr<Results> results = loop.Run(PlayRank(**member, *ranks, std::move(options)));
  session.console().EndProgress();
  RETURN_IF_ERROR(results.status());
  session.EndRun();
  if (speaks) return Report(session.console(), *results, settings.workload.rounds, session.scene());
  const bool right = std::all_of(results->begin(), results->end(),
                                 [](const RankResult& result) { return result.wrong == 0; });
  return right ? kExitOk : kExitFailed;
}

absl::StatusOr<int> Run(Session& session, const Settings& settings,
                        const std::vector<std::string>& positional) {
  ASSIGN_OR_RETURN(const Roles roles, session.RolesFor(!positional.empty()));
  if (roles.server && roles.client) return RunHere(session, settings);
  return RunOne(session, settings, positional);
}

int Main(int argc, char** argv) {
  const std::vector<std::string> positional = ParseCommandLineOrExit(argc, argv, kUsage);
  if (positional.size() > 1) {
    return ReportError(kUsage.name,
                       BadInput(absl::StrCat("unexpected argument '", positional[1], "'")));
  }
  const absl::StatusOr<Settings> settings = SettingsFromFlags();
  if (!settings.ok()) return ReportError(kUsage.name, settings.status());
  const auto session = Session::FromFlags({.program = kUsage.name});
  if (!session.ok()) return ReportError(kUsage.name, session.status());
  const absl::StatusOr<int> result = Run(**session, *settings, positional);
  return (*session)->Finish(result.ok() ? *result : ReportError(kUsage.name, result.status()));
}

}  // namespace
}  // namespace drydock::apps::alltoall

int main(int argc, char** argv) { return drydock::apps::alltoall::Main(argc, argv); }
