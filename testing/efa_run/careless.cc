// A program on plain verbs that is right as long as nothing goes wrong: it does not look at the
// status of what it has sent. Where a write fails it finds other bytes at the target (exit status
// 3), where a message fails it waits for it for ever.
//
//   careless         as above
//   careless kept    its repaired twin, which sends again what has failed
//   careless late    the twin, and when it has closed everything, the careless one
//   careless where   says where its heap has room, and fails
//   careless forks   has a child that writes with its parent's devices, and fails when that is over
//   careless execs   writes, and becomes the careless one with everything open
//   careless spins   writes, and never ends

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>

#include "drydock/testing/efa_run/verbs_side.h"

namespace drydock::rules {
namespace {

constexpr std::uint32_t kBytes = 64;
constexpr std::uint64_t kRounds = 6;

void Send(const Side& from, bool kept, const std::function<int()>& post) {
  do {
    Need(post() == 0, "post");
  } while (from.Wait(from.sends).status != IBV_WC_SUCCESS && kept);
}

bool Run(bool kept) {
  Pair pair;
  for (std::uint64_t i = 1; i <= kRounds; ++i) {
    std::memset(pair.a.memory.data(), static_cast<int>(i), kBytes);
    Send(pair.a, kept, [&] { return pair.a.Write(pair.b, i, kBytes); });
    if (std::memcmp(pair.a.memory.data(), pair.b.memory.data(), kBytes) != 0) {
      std::printf("round %d: other bytes\n", static_cast<int>(i));
      return false;
    }
    pair.b.Receive(i);
    Send(pair.a, kept, [&] { return pair.a.Send(pair.b, i); });
    ibv_wc message{};
    while (ibv_poll_cq(pair.b.receives, 1, &message) == 0) {
    }
  }
  pair.Close();
  return true;
}

// With the devices open, and when they are closed and open again.
void TellRoom() {
  for (int life = 0; life < 2; ++life) {
    Pair pair;
    std::array<void*, 6> places;
    std::size_t bytes = 64;
    for (void*& place : places) {
      place = std::malloc(bytes);
      std::printf("%zu bytes at %p\n", bytes, place);
      bytes *= 8;
    }
    for (void* const place : places) std::free(place);
    pair.Close();
  }
}

int Fork() {
  Pair pair;
  const pid_t child = fork();
  if (child == 0) {
    Send(pair.a, false, [&] { return pair.a.Write(pair.b, 1, kBytes); });
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 5 : 4;
}

void Exec(const char* program) {
  Pair pair;
  Send(pair.a, true, [&] { return pair.a.Write(pair.b, 1, kBytes); });
  execl(program, program, nullptr);
}

[[noreturn]] void Spin() {
  Pair pair;
  Send(pair.a, true, [&] { return pair.a.Write(pair.b, 1, kBytes); });
  volatile bool ever = true;
  while (ever) continue;
  _exit(0);
}

}  // namespace
}  // namespace drydock::rules

int main(int count, char** words) {
  const std::string_view what = count == 2 ? words[1] : "";
  if (what == "where") {
    drydock::rules::TellRoom();
    return 3;
  }
  if (what == "forks") return drydock::rules::Fork();
  if (what == "spins") drydock::rules::Spin();
  if (what == "execs") drydock::rules::Exec(words[0]);
  if (what == "late" && !drydock::rules::Run(true)) return 4;
  return drydock::rules::Run(what == "kept") ? 0 : 3;
}
