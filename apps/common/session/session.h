// One run of a program, in the world that its flags choose: the simulator, a provider of libfabric,
// EFA. It takes --fabric, --provider, --profile, --seed, --nic, --faults, --metrics, --trace,
// --json and --csv, gives fabrics that are already wrapped and a clock, and prints the report at
// the end.
//
//   ASSIGN_OR_RETURN(const auto session, Session::FromFlags({.program = "write"}));
//   ASSIGN_OR_RETURN(const Roles roles, session->RolesFor(address_given));
//   coro::EventLoop loop(session->clock());
//   {
//     ASSIGN_OR_RETURN(const auto server, session->Open(loop, "server"));  // if roles.server
//     ... run ...
//     session->EndRun();
//   }
//   return session->Finish(exit_code);

#ifndef DRYDOCK_APPS_COMMON_SESSION_SESSION_H_
#define DRYDOCK_APPS_COMMON_SESSION_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/session/console.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/event_loop.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/peer_memory.h"

namespace drydock::apps {

struct SessionOptions {
  std::string program;  // its name
  bool verbose = false;
  // Devices whose memory the program registers. They outlive the session.
  std::vector<fabric::PeerMemoryClient*> devices;
};

// Which sides of a program this process plays.
struct Roles {
  bool server = false;
  bool client = false;
};

// Where a run took place, for its result.
struct Scene {
  std::string fabric;
  std::string nic;
  std::optional<std::uint64_t> seed;  // of a simulated run
};

// One machine of a run, for programs that open several of its NICs.
struct Machine {
  std::unique_ptr<fabric::Fabric> fabric;
  std::size_t nic = 0;  // that --nic names, or the first
};

// Not thread-safe. Outlives every machine and node that it has opened.
class Session {
 public:
  // Errors: those of the flags, kInvalidArgument and kNotFound; kUnimplemented for features that
  // this build or this world lacks.
  static absl::StatusOr<std::unique_ptr<Session>> FromFlags(const SessionOptions& options);
  virtual ~Session();

  // Simulated, one process plays both sides; otherwise the client is the one that has a server's
  // address. kInvalidArgument: an address, where both sides are here.
  virtual absl::StatusOr<Roles> RolesFor(bool has_address) const = 0;

  // The time of this world, for the loop that the nodes are opened on.
  virtual coro::Clock& clock() = 0;
  Console& console() { return *console_; }
  const std::string& program() const;

  // A machine of this name, which is observed, counted and under the fault plan as the flags want
  // it; a real fabric has one. kNotFound: it lacks the NIC of --nic.
  absl::StatusOr<Machine> OpenMachine(absl::string_view name);
  // A node on the chosen NIC of a machine of its own. Errors: those of the NIC and of opening it.
  absl::StatusOr<std::unique_ptr<fabric::async::Node>> Open(coro::EventLoop& loop,
                                                            absl::string_view name);
  // Of the machine that was opened last.
  const Scene& scene() const { return scene_; }

  // Says which world and NIC it is, then `lines` (labels and texts), then how to repeat the run.
  void SayScene(const std::vector<std::pair<std::string, std::string>>& lines);

  // For a run that only serves. kInvalidArgument: it gives no result, as --json and --csv want one;
  // --trace or --metrics is given, and it does not end (`ends`) unless `flag` is.
  absl::Status CheckServing(bool ends, absl::string_view flag) const;

  // The program's work is done, and its nodes are open: looks whether it has kept the rules of
  // RDMA, where that can be known, and says how long it took in the world's time.
  virtual void EndRun() = 0;

  // All nodes are closed. Writes and prints the outputs that the flags ask for. Returns the exit
  // status for it all: `exit_code`, unless that was 0 and something is wrong.
  int Finish(int exit_code);

 protected:
  struct Parts;  // the parts that the flags ask for
  explicit Session(std::unique_ptr<Parts> parts);

  // The world's own report at the end; may raise the exit status.
  virtual int FinishWorld(int exit_code) = 0;
  // The fabric of a machine of this name, with the wrappers that the flags ask for.
  virtual absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenFabric(absl::string_view name) = 0;

  const std::unique_ptr<Parts> parts_;

 private:
  class OnFabric;
  class Simulated;

  std::unique_ptr<Console> console_;
  Scene scene_;
  std::optional<fabric::NicInfo> nic_;  // of the machine that was opened last
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_SESSION_SESSION_H_
