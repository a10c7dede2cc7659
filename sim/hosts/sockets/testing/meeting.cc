#include "drydock/sim/hosts/sockets/testing/meeting.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/hosts/sockets/key.h"
#include "drydock/sim/hosts/sockets/rendezvous.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/testing/unique_name.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

template <typename T>
T Need(absl::StatusOr<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status();
    std::abort();
  }
  return *std::move(result);
}

}  // namespace

Meeting::Meeting()
    : key_file_(absl::StrCat(testing::TempDir(), "/", UniqueName("key"))),
      key_(Need(sim::ReadOrMakeKey(key_file_))) {
  sim::Socket listening = Need(sim::Socket::Bind(Need(sim::SocketAddress::Of("127.0.0.1", 0))));
  EXPECT_TRUE(listening.Listen().ok());
  network_ = absl::StrCat("tcp://127.0.0.1:", listening.LocalAddress().port());
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(3);
    sim::Rendezvous rendezvous(std::move(listening), key_);
    while (true) rendezvous.Turn();
  }
}

Meeting::~Meeting() {
  Stop();
  unlink(key_file_.c_str());
}

void Meeting::Stop() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Meeting::Freeze() {
  kill(pid_, SIGSTOP);
  waitpid(pid_, nullptr, WUNTRACED);
}

void Meeting::Thaw() { kill(pid_, SIGCONT); }

}  // namespace drydock::sim_testing
