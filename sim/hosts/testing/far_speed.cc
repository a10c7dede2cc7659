// How fast machines reach each other by sockets, beside bare TCP between the same two processes of
// this computer: round trips of 64 bytes, and blocks of 1 MiB. By hand:
//
//   ./bazelw run --config=opt //sim/hosts/testing:far_speed

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "drydock/sim/hosts/sockets/testing/meeting.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/sim/hosts/testing/station.h"
#include "drydock/sim/profile/profile.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSmall = 64;
constexpr std::size_t kBlock = 1 << 20;
constexpr int kRoundTrips = 4000;
constexpr int kBlocks = 400;
constexpr std::uint16_t kReceives = 16;
constexpr int kInFlight = 8;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Speed {
  double round_trip_us = 0;  // the median
  double gbytes_per_s = 0;
};

double MedianOf(int count, const std::function<void()>& once) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    once();
    times.push_back(MicrosecondsSince(begin));
  }
  std::nth_element(times.begin(), times.begin() + count / 2, times.end());
  return times[static_cast<std::size_t>(count / 2)];
}

double Rate(const std::function<void()>& all) {
  const auto begin = Clock::now();
  all();
  return static_cast<double>(kBlocks) * kBlock / MicrosecondsSince(begin) / 1000;
}

// ---- Bare TCP ----

// A program that looks again and again, as ours do; it yields, as ours do.
void Receive(int fd, std::byte* target, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t received =
        recv(fd, target, std::min(bytes, std::size_t{256 << 10}), MSG_DONTWAIT);
    if (received <= 0) {
      std::this_thread::yield();
      continue;
    }
    target += received;
    bytes -= static_cast<std::size_t>(received);
  }
}

void Send(int fd, const std::byte* source, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(fd, source, bytes, MSG_NOSIGNAL);
    if (sent <= 0) std::abort();
    source += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void SetNoDelay(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void ServeBare(int fd) {
  SetNoDelay(fd);
  std::vector<std::byte> memory(kBlock);
  for (int i = 0; i < kRoundTrips; ++i) {
    Receive(fd, memory.data(), kSmall);
    Send(fd, memory.data(), kSmall);
  }
  for (int i = 0; i < kBlocks; ++i) Receive(fd, memory.data(), kBlock);
  Send(fd, memory.data(), 1);
}

Speed BareTcp() {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t bytes = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listening, generic, bytes) != 0 || listen(listening, 1) != 0) std::abort();
  getsockname(listening, generic, &bytes);
  ChildProcess child([listening](Talk&) { ServeBare(accept(listening, nullptr, nullptr)); });
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, generic, bytes) != 0) std::abort();
  SetNoDelay(fd);
  std::vector<std::byte> memory(kBlock);
  Speed speed;
  speed.round_trip_us = MedianOf(kRoundTrips, [&] {
    Send(fd, memory.data(), kSmall);
    Receive(fd, memory.data(), kSmall);
  });
  speed.gbytes_per_s = Rate([&] {
    for (int i = 0; i < kBlocks; ++i) Send(fd, memory.data(), kBlock);
    Receive(fd, memory.data(), 1);
  });
  child.Wait();
  close(fd);
  close(listening);
  return speed;
}

// ---- Simulated NICs ----

void PostReceiveAt(Station& station, std::uint16_t number) {
  station.PostReceive(number * kSmall, kSmall, number);
}

// The next message, which is replaced by a receive.
void TakeMessage(Station& station) {
  while (true) {
    const efa::Completion completion = station.Wait();
    if (completion.status != efa::CompletionStatus::kOk) std::abort();
    if (completion.queue == efa::QueueType::kSend) continue;
    return PostReceiveAt(station, static_cast<std::uint16_t>(completion.request_id));
  }
}

void Serve(Talk& talk, const StationOptions& options) {
  Station station(options);
  for (std::uint16_t i = 0; i < kReceives; ++i) PostReceiveAt(station, i);
  talk.Say(station.address());
  const auto peer = talk.Hear<StationAddress>();
  for (int i = 0; i < kRoundTrips; ++i) {
    TakeMessage(station);
    station.Post(peer, {.length = kSmall});
  }
  while (!talk.HasNews()) station.Poll();
}

Speed Simulated(const StationOptions& options) {
  ChildProcess child([&](Talk& talk) { Serve(talk, options); });
  Station station(options);
  for (std::uint16_t i = 0; i < kReceives; ++i) PostReceiveAt(station, i);
  const auto peer = child.talk().Hear<StationAddress>();
  child.talk().Say(station.address());
  Speed speed;
  speed.round_trip_us = MedianOf(kRoundTrips, [&] {
    station.Post(peer, {.length = kSmall});
    TakeMessage(station);
  });
  while (station.Poll().has_value()) {
  }
  speed.gbytes_per_s = Rate([&] {
    int posted = 0;
    for (int done = 0; done < kBlocks; ++done) {
      for (; posted < kBlocks && posted < done + kInFlight; ++posted) {
        station.Post(peer, {.operation = efa::Operation::kWrite, .length = kBlock});
      }
      if (station.Wait().status != efa::CompletionStatus::kOk) std::abort();
    }
  });
  child.talk().Say(true);
  child.Wait();
  return speed;
}

void Print(const char* name, const Speed& speed, const Speed& bare) {
  std::printf("%-30s %8.1f us %6.2f x %8.2f GB/s %6.2f x\n", name, speed.round_trip_us,
              speed.round_trip_us / bare.round_trip_us, speed.gbytes_per_s,
              speed.gbytes_per_s / bare.gbytes_per_s);
}

int Main() {
  static const sim::Profile p5 = sim::Profiles().front();
  static const sim::Profile without_delays = sim::WithoutDelays(p5);
  Meeting meeting;
  StationOptions options;
  options.memory_bytes = kBlock;
  const auto simulated = [&](const sim::Profile& profile, bool far) {
    options.profile = &profile;
    options.fabric = FreshFabric();
    options.network = far ? meeting.network() : "";
    options.key_file = meeting.key_file();
    options.shared_memory = !far;
    options.cross_memory = false;
    return Simulated(options);
  };
  for (int round = 0; round < 3; ++round) {
    const Speed bare = BareTcp();
    Print("bare TCP, both sides polling", bare, bare);
    Print("p5, by sockets", simulated(p5, true), bare);
    Print("p5, by shared memory", simulated(p5, false), bare);
    Print("no delays, by sockets", simulated(without_delays, true), bare);
    Print("no delays, by shared memory", simulated(without_delays, false), bare);
  }
  return 0;
}

}  // namespace
}  // namespace drydock::sim_testing

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  return drydock::sim_testing::Main();
}
