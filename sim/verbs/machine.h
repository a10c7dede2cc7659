// The machine that this process is on the simulated network, as long as it has a device open.

#ifndef DRYDOCK_SIM_VERBS_MACHINE_H_
#define DRYDOCK_SIM_VERBS_MACHINE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/device/nic.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/hosts/host.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/findings.h"
#include "drydock/sim/verbs/run_recorder.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/verbs/trace.h"
#include "drydock/sim/virtual_time/virtual_time.h"

namespace drydock::sim::verbs {

// The machine that the environment asks for: its devices exist before anything is opened.
// Thread-safe.
class Machine {
 public:
  // This process's machine. An error was reported on standard error, once; the process then has no
  // device.
  static const absl::StatusOr<Machine*>& Get();

  const Profile& profile() const { return profile_; }
  const Settings& settings() const { return settings_; }

  // Joins the network if no device is open yet. The machine leaves it when the last holder lets go
  // of the result.
  absl::StatusOr<std::shared_ptr<Host>> Open();

  // The plan that the device applies; null when there is none. REQUIRES: a device is open.
  fabric::faults::FaultEngine* faults() { return faults_.get(); }
  // Null when there is none. REQUIRES: the host's mutex is held.
  Trace* trace() { return trace_.get(); }
  // The same.
  Findings* findings() { return findings_.get(); }
  // The process ends with this status, and everything of the program's has run: returns the status
  // that it is to have.
  int End(int status);

 private:
  Machine(Settings settings, Profile profile)
      : settings_(std::move(settings)), profile_(std::move(profile)) {}

  static absl::StatusOr<Machine*> Make();
  // REQUIRES: mutex_ is held.
  absl::StatusOr<std::unique_ptr<Host>> Join();
  // A thread forks: until it has, no other one is in the midst of what a child is to find whole.
  static void HoldOverFork();
  static void LetGoAfterFork();
  static void ListenToForks();
  // The process ends, by itself; a signal ends it.
  static void AtExit();
  static void OnSignal();
  // In virtual time: the world of `host` is over, and the process. `check`: the rule that makes it
  // fail. REQUIRES: the host's mutex is held.
  void AddDigest(Host& host);
  void TellEnd(const std::string& check);
  // REQUIRES of both: mutex_ and the host's are held.
  absl::Status Prepare(Host& host);
  absl::Status OpenTrace(Host& host);
  void WatchFindings(Host& host);
  // False: mutex_ never comes, and the host stays as it is.
  bool Leaves(Host& host);
  void EndTrace();  // REQUIRES: as above

  const Settings settings_;
  const Profile profile_;
  VirtualTime* time_ = nullptr;  // null: the machine's clock
  Digest digest_;                // of all worlds of this process so far, and their events
  std::uint64_t events_ = 0;
  std::uint64_t worlds_ = 0;  // that it has begun
  std::mutex mutex_;
  std::weak_ptr<Host> host_;
  // Why process `alone_process_` found no rendezvous. A loop over the NICs asks for the next one at
  // once, and has the same answer; a program that tries again 5 seconds later has a new one.
  absl::Status alone_;
  std::chrono::steady_clock::time_point alone_until_;
  int alone_process_ = 0;
  std::shared_ptr<fabric::faults::FaultEngine> faults_;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<Findings> findings_;
  std::unique_ptr<RunRecorder> recorder_;  // null: no record of this run is wanted
  Host* traced_ = nullptr;
  int lives_ = 0;   // traces that process `living_` has begun
  int living_ = 0;  // a process
};

// The trace of this process; null when there is none. REQUIRES: a device is open, and the host's
// mutex is held.
inline Trace* TraceOfProcess() { return (*Machine::Get())->trace(); }

// Held while a value of the process is made at its first use: a fork waits for that, and a child
// finds the value, or makes it. No other mutex is taken then, and no thread has one of ours.
std::mutex& MutexOfFirstUse();

// Takes a mutex that never comes where this thread interrupted itself, or where another thread of a
// forked child's parent had it (objects.h, Closing): then, false after a second. One that another
// thread holds comes when that thread has had its turn: false after a minute or more. REQUIRES: the
// caller holds a TerminationDelay.
bool LockSoon(std::unique_lock<std::mutex>& lock);

// Prints one line on standard error: the reason of an errno, for a person.
void Say(const std::string& line);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_MACHINE_H_
