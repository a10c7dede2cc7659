// A program on plain verbs for each rule of docs/checks.md that efa-run finds in programs that know
// nothing of us: RULE breaks it, RULE-kept is as much like it as a right program can be.
//
//   rules RULE[-kept]     exit status 0 when it has come to its end
//   rules threads-kept    two threads, and no promise
//   rules wait            ends after a minute
//   rules closed-late     leaves all open, and a destructor closes the devices, as libfabric's does
//   rules closed-late-3   the same, with exit status 3
//   rules closed-static   the same by a static object whose constructor opens the devices
//   rules closed-static-3 the same, with exit status 3
//   rules                 the rules, one a line

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "drydock/testing/efa_run/verbs_side.h"

namespace drydock::rules {
namespace {

using namespace std::chrono_literals;

using std::chrono::steady_clock;

constexpr std::uint32_t kShort = 64;
constexpr std::uint32_t kLong = Side::kBytes;

// Room for 4 completions, and 9 come: they are read too late, or in time.
void CompletionQueueCapacity(bool kept) {
  Pair pair({}, {.nic = 1, .receive_entries = 4});
  for (int i = 0; i < 9; ++i) pair.b.Receive(static_cast<std::uint64_t>(i));
  for (int i = 0; i < 9; ++i) {
    Need(pair.a.Send(pair.b, 0) == 0, "send");
    pair.a.WaitForAll(pair.a.sends, 1);
    if (kept) pair.b.WaitForAll(pair.b.receives, 1);
  }
  if (!kept) pair.b.WaitForAll(pair.b.receives, 1);  // the first that is not of a lap too late
  pair.Close();
}

// A full send queue: a program that only tries again waits for ever. Here it is given up after a
// while.
void AgainWithoutReading(bool kept) {
  Pair pair({.sends = 16});
  const auto end = steady_clock::now() + 1500ms;
  int more = 5000;  // tries when that is over: it may have had no processor in between
  int posted = 0;
  while (steady_clock::now() < end || --more > 0) {
    if (pair.a.Write(pair.b, 1, kShort) == 0) {
      ++posted;
    } else if (kept) {
      pair.a.WaitForAll(pair.a.sends, 1);
      --posted;
    }
  }
  pair.a.WaitForAll(pair.a.sends, posted);
  pair.Close();
}

// The source's region is closed with the write under way, or after it.
void UseAfterDeregister(bool kept) {
  Pair pair;
  Need(pair.a.Write(pair.b, 1, kLong) == 0, "write");
  if (!kept) pair.a.Deregister();
  const bool good = pair.a.Wait(pair.a.sends).status == IBV_WC_SUCCESS;
  Need(good == kept, "a region that was closed in time");
  pair.Close();
}

// The source changes with the write under way, or after it.
void BufferRace(bool kept) {
  Pair pair;
  Need(pair.a.Write(pair.b, 1, kLong) == 0, "write");
  if (!kept) pair.a.memory.back() = 'x';
  pair.a.WaitForAll(pair.a.sends, 1);
  pair.a.memory.back() = 'y';
  pair.Close();
}

// The program ends, and has closed everything or nothing.
void Leaks(bool kept) {
  static Pair& pair = *new Pair;
  Need(pair.a.Write(pair.b, 1, kShort) == 0, "write");
  pair.a.WaitForAll(pair.a.sends, 1);
  if (kept) pair.Close();
}

// One queue is read all the time, another one has had an entry for seconds.
void CompletionQueueService(bool kept) {
  Pair pair;
  for (std::uint64_t i = 0; i < 2; ++i) {
    pair.b.Receive(i);
    Need(pair.a.Send(pair.b, i) == 0, "send");
    pair.a.WaitForAll(pair.a.sends, 1);
    const auto end = steady_clock::now() + (i == 0 ? 6000ms : 100ms);
    if (kept) pair.b.WaitForAll(pair.b.receives, 1);
    ibv_wc none{};
    int more = 2000;  // reads when that is over, as above
    while (steady_clock::now() < end || --more > 0) ibv_poll_cq(pair.b.sends, 1, &none);
  }
  if (!kept) pair.b.WaitForAll(pair.b.receives, 2);
  pair.Close();
}

// The peer's queue pair is gone. A sender that was told so does not go on sending to it.
void PeerIncarnation(bool kept) {
  Pair pair;
  pair.b.CloseQueuePair();
  for (int i = 0; i < 40; ++i) {
    Need(pair.a.Send(pair.b, 1) == 0, "send");
    const bool refused = pair.a.Wait(pair.a.sends).status != IBV_WC_SUCCESS;
    Need(refused, "a peer that is gone");
    if (kept) break;
  }
  pair.Close();
}

// Two threads, one queue pair, whose program has promised to use it from one at a time.
void OneThreadAtATime(bool kept) {
  Pair pair({.one_thread = true});
  std::mutex mutex;
  const auto post = [&](const std::function<void()>& within) {
    std::unique_lock lock(mutex, std::defer_lock);
    if (kept) lock.lock();
    pair.a.Begin(pair.b, 1);
    within();
    Need(ibv_wr_complete(pair.a.extended) == 0, "ibv_wr_complete");
  };
  for (std::uint64_t i = 0; i < 2; ++i) pair.b.Receive(i);
  std::thread other;
  std::atomic<bool> begins = false;
  post([&] {
    other = std::thread([&] {
      begins = true;
      post([] {});
    });
    while (!begins) std::this_thread::yield();
    std::this_thread::sleep_for(200ms);
  });
  other.join();
  pair.a.WaitForAll(pair.a.sends, 2);
  pair.b.WaitForAll(pair.b.receives, 2);
  pair.Close();
}

// The same without a promise: libibverbs keeps the threads apart.
void ThreadsWithoutAPromise() {
  Pair pair;
  for (std::uint64_t i = 0; i < 2; ++i) pair.b.Receive(i);
  pair.a.Begin(pair.b, 1);
  std::atomic<bool> begins = false;
  std::thread other([&] {
    begins = true;
    pair.a.Begin(pair.b, 2);
    Need(ibv_wr_complete(pair.a.extended) == 0, "ibv_wr_complete");
  });
  while (!begins) std::this_thread::yield();
  std::this_thread::sleep_for(100ms);
  Need(ibv_wr_complete(pair.a.extended) == 0, "ibv_wr_complete");
  other.join();
  pair.a.WaitForAll(pair.a.sends, 2);
  pair.b.WaitForAll(pair.b.receives, 2);
  pair.Close();
}

// A session of a request that is left open, or given up.
void WorkNotRungFor(bool kept) {
  Pair pair;
  pair.a.Begin(pair.b, 1);
  if (kept) ibv_wr_abort(pair.a.extended);
  pair.Close();
}

// A write is known to have arrived by its bytes. Its completion is read, or not.
void UnreadCompletions(bool kept) {
  Pair pair;
  pair.a.memory[0] = 'x';
  Need(pair.a.Write(pair.b, 1, kShort) == 0, "write");
  ibv_wc none{};
  while (static_cast<volatile char&>(pair.b.memory[0]) != 'x') {
    ibv_poll_cq(pair.b.receives, 1, &none);
  }
  std::this_thread::sleep_for(100ms);
  if (kept) pair.a.WaitForAll(pair.a.sends, 1);
  pair.Close();
}

// The peer's address handle goes with a write to it under way, or after it.
void AddressHandleInUse(bool kept) {
  Pair pair;
  Need(pair.a.Write(pair.b, 1, kLong) == 0, "write");
  if (!kept) pair.a.Forget(pair.b);
  pair.a.Wait(pair.a.sends);
  pair.Close();
}

// A message that found no receive is given up, or sent again when there is one.
void ReceiverNotReady(bool kept) {
  Pair pair({.rnr_retry = 1});
  Need(pair.a.Send(pair.b, 1) == 0, "send");
  Need(pair.a.Wait(pair.a.sends).status == IBV_WC_RNR_RETRY_EXC_ERR, "a receiver without receives");
  pair.b.Receive(0);
  if (kept) {
    Need(pair.a.Send(pair.b, 2) == 0, "send");
    pair.a.WaitForAll(pair.a.sends, 1);
    pair.b.WaitForAll(pair.b.receives, 1);
  }
  pair.Close();
}

// An event is taken. On hardware the queue then cannot be destroyed before it is acknowledged.
void UnacknowledgedEvents(bool kept) {
  Pair pair({.channel = true});
  Need(ibv_req_notify_cq(pair.a.sends, 0) == 0, "ibv_req_notify_cq");
  Need(pair.a.Write(pair.b, 1, kShort) == 0, "write");
  ibv_cq* queue = nullptr;
  void* own = nullptr;
  Need(ibv_get_cq_event(pair.a.channel, &queue, &own) == 0, "ibv_get_cq_event");
  if (kept) ibv_ack_cq_events(queue, 1);
  pair.a.WaitForAll(pair.a.sends, 1);
  pair.Close();
}

// Has everything open, says so, and waits to be ended.
void Wait() {
  static const Pair& pair = *new Pair;
  static_cast<void>(pair);
  std::printf("ready\n");
  std::fflush(stdout);
  std::this_thread::sleep_for(60s);
}

Pair* left_open = nullptr;

void CloseDevices() {
  for (const Side* side : {&left_open->a, &left_open->b}) ibv_close_device(side->context);
}

int CloseLate(int status) {
  std::atexit(CloseDevices);
  left_open = new Pair;
  return status;
}

int CloseByStaticObject(int status) {
  struct Owner {
    Owner() { left_open = new Pair; }
    ~Owner() { CloseDevices(); }
  };
  static const Owner owner;
  return status;
}

const std::map<std::string, std::function<void(bool kept)>>& Programs() {
  static const auto& programs = *new std::map<std::string, std::function<void(bool)>>{
      {"completion-queue-capacity", CompletionQueueCapacity},
      {"again-without-reading", AgainWithoutReading},
      {"use-after-deregister", UseAfterDeregister},
      {"buffer-race", BufferRace},
      {"leaks", Leaks},
      {"completion-queue-service", CompletionQueueService},
      {"peer-incarnation", PeerIncarnation},
      {"one-thread-at-a-time", OneThreadAtATime},
      {"work-not-rung-for", WorkNotRungFor},
      {"unread-completions", UnreadCompletions},
      {"address-handle-in-use", AddressHandleInUse},
      {"receiver-not-ready", ReceiverNotReady},
      {"unacknowledged-events", UnacknowledgedEvents}};
  return programs;
}

int Run(std::string name) {
  if (name == "threads-kept") {
    ThreadsWithoutAPromise();
    return 0;
  }
  if (name == "wait") {
    Wait();
    return 0;
  }
  if (name == "closed-late") return CloseLate(0);
  if (name == "closed-late-3") return CloseLate(3);
  if (name == "closed-static") return CloseByStaticObject(0);
  if (name == "closed-static-3") return CloseByStaticObject(3);
  const std::size_t end = name.rfind("-kept");
  const bool kept = end != std::string::npos;
  if (kept) name.resize(end);
  const auto found = Programs().find(name);
  if (found == Programs().end()) {
    std::fprintf(stderr, "no program %s\n", name.c_str());
    return 2;
  }
  found->second(kept);
  return 0;
}

}  // namespace
}  // namespace drydock::rules

int main(int count, char** words) {
  if (count == 2) return drydock::rules::Run(words[1]);
  for (const auto& [name, program] : drydock::rules::Programs()) std::printf("%s\n", name.c_str());
  return 0;
}
