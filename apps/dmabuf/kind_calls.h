// What the cases of --kinds share: calls that a case needs, and where it asks.

#ifndef DRYDOCK_APPS_DMABUF_KIND_CALLS_H_
#define DRYDOCK_APPS_DMABUF_KIND_CALLS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/dmabuf/kinds.h"
#include "drydock/gpu/memory_driver.h"

namespace drydock::apps::dmabuf {

using Said = absl::StatusOr<std::string>;
using Current = gpu::MemoryDriver::Context;

// The number of a call that a case needs, or what the call said instead.
inline absl::StatusOr<std::uint64_t> Need(const char* call, gpu::DriverAnswer answer) {
  if (answer.ok()) return answer.value;
  return absl::InternalError(absl::StrCat(call, ": ", gpu::NameOf(answer.code)));
}
inline absl::Status Need(const char* call, gpu::DriverCode code) {
  return Need(call, gpu::DriverAnswer{code, 0}).status();
}

// What `ask` says on a thread with that context.
template <typename Ask>
std::string OnThread(gpu::MemoryDriver& driver, Current context, Ask ask) {
  std::string said;
  std::thread([&] {
    const gpu::DriverCode set =
        context == Current::kNone ? gpu::DriverCode::kSuccess : driver.SetCurrent(context);
    said = set == gpu::DriverCode::kSuccess ? ask() : absl::StrCat("context: ", gpu::NameOf(set));
  }).join();
  return said;
}

// What `ask` says in a child of this process.
template <typename Ask>
Said InChild(Ask ask) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError("pipe");
  const pid_t child = fork();
  if (child < 0) return absl::InternalError("fork");
  if (child == 0) {
    const std::string said = ask();
    const ssize_t written = write(ends[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said(256, '\0');
  const ssize_t length = read(ends[0], said.data(), said.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  said.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  if (WIFSIGNALED(status)) return absl::StrCat("child ended by signal ", WTERMSIG(status));
  return said;
}

// Those of registration with a simulated NIC, behind the others.
const std::vector<KindCase>& RegistrationCases();

}  // namespace drydock::apps::dmabuf

#endif  // DRYDOCK_APPS_DMABUF_KIND_CALLS_H_
