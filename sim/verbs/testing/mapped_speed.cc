// What queues that a program drives itself cost beside calls of the library: half a round trip of a
// message of 64 bytes between two processes that spin, on one processor and on all of them. By hand:
//
//   ./bazelw run --config=opt //sim/verbs/testing:mapped_speed

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/sim/testing/unique_name.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/mapped_queues.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kBytes = 64;
constexpr std::uint16_t kReceives = 8;
constexpr std::size_t kSessions = 9;
// A session lasts for so many round trips, or for so long: where spinning processes share a
// processor, a round trip may take the slices of time that they are given.
constexpr int kRoundTrips = 4000;
constexpr auto kLongest = std::chrono::seconds(2);

struct Place {
  ibv_gid gid;
  std::uint32_t queue_pair;
};

// An end with its receives posted, and the other process's.
class Station {
 public:
  virtual ~Station() = default;

  Place place() const { return {end_.gid, end_.queue_pair->qp_num}; }
  void Meet(const Place& peer) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = 1;
    attr.grh.dgid = peer.gid;
    handle_ = ibv_create_ah(end_.domain, &attr);
    if (handle_ == nullptr) std::abort();
    peer_ = peer;
  }

  virtual void Send() = 0;
  // Spins until a message is there, and posts its receive again.
  virtual void Receive() = 0;

 protected:
  End& end() { return end_; }
  ibv_ah* handle() const { return handle_; }
  const Place& peer() const { return peer_; }

 private:
  End end_;
  ibv_ah* handle_ = nullptr;
  Place peer_{};
};

class CallingStation final : public Station {
 public:
  CallingStation() {
    for (std::uint16_t i = 0; i < kReceives; ++i) Post(i);
  }
  void Send() override {
    ibv_qp_ex* const queue_pair = end().extended;
    ibv_wr_start(queue_pair);
    queue_pair->wr_id = 0;
    queue_pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(queue_pair);
    ibv_wr_set_sge(queue_pair, end().region->lkey, end().address(0), kBytes);
    ibv_wr_set_ud_addr(queue_pair, handle(), peer().queue_pair, End::kQkey);
    if (ibv_wr_complete(queue_pair) != 0) std::abort();
  }
  void Receive() override {
    std::uint64_t number = 0;
    while (!TakeFrom(end().receive_queue, number)) TakeFrom(end().send_queue, number);
    Post(number);
  }

 private:
  static bool TakeFrom(ibv_cq_ex* queue, std::uint64_t& number) {
    ibv_poll_cq_attr attr{};
    if (ibv_start_poll(queue, &attr) != 0) return false;
    if (queue->status != IBV_WC_SUCCESS) std::abort();
    number = queue->wr_id;
    ibv_end_poll(queue);
    return true;
  }
  void Post(std::uint64_t number) {
    ibv_sge segment = end().Segment(kBytes * (1 + number), kBytes);
    ibv_recv_wr request{.wr_id = number, .next = nullptr, .sg_list = &segment, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(end().queue_pair, &request, &bad) != 0) std::abort();
  }
};

class MappedStation final : public Station {
 public:
  MappedStation() {
    for (std::uint16_t i = 0; i < kReceives; ++i) Post(i);
  }
  void Send() override {
    rings_.WriteMessage(End::NumberOf(handle()), peer().queue_pair, 0, 0, kBytes);
    rings_.RingSends();
  }
  void Receive() override {
    while (true) {
      if (const auto arrived = Take(receives_)) return Post(arrived->request_id);
      if (Take(sends_).has_value()) rings_.SendEnded();
    }
  }

 private:
  static std::optional<efa::Completion> Take(MappedQueue& queue) {
    const std::optional<efa::Completion> entry = queue.Poll();
    if (entry.has_value() && entry->status != efa::CompletionStatus::kOk) std::abort();
    return entry;
  }
  void Post(std::uint32_t number) {
    rings_.Receive(static_cast<std::uint16_t>(number), kBytes * (1 + std::size_t{number}), kBytes);
  }

  MappedRings rings_{end()};
  MappedQueue sends_{end().send_queue};
  MappedQueue receives_{end().receive_queue};
};

std::unique_ptr<Station> Open(bool mapped) {
  if (mapped) return std::make_unique<MappedStation>();
  return std::make_unique<CallingStation>();
}

void KeepTo(std::size_t processors) {
  cpu_set_t all;
  sched_getaffinity(0, sizeof(all), &all);
  cpu_set_t some;
  CPU_ZERO(&some);
  for (std::size_t i = 0, taken = 0; i < CPU_SETSIZE && taken < processors; ++i) {
    if (!CPU_ISSET(i, &all)) continue;
    CPU_SET(i, &some);
    ++taken;
  }
  sched_setaffinity(0, sizeof(some), &some);
}

// Microseconds of half a round trip, on average.
double Session(std::size_t processors, bool mapped) {
  setenv(sim::verbs::kFabricVariable, UniqueName("mapped-speed").c_str(), /*overwrite=*/1);
  ChildProcess echo([&](Talk& talk) {
    KeepTo(processors);
    const std::unique_ptr<Station> station = Open(mapped);
    talk.Say(station->place());
    station->Meet(talk.Hear<Place>());
    while (true) {  // until it is killed
      station->Receive();
      station->Send();
    }
  });
  ChildProcess caller([&](Talk& talk) {
    KeepTo(processors);
    const std::unique_ptr<Station> station = Open(mapped);
    talk.Say(station->place());
    station->Meet(talk.Hear<Place>());
    const auto round_trip = [&] {
      station->Send();
      station->Receive();
    };
    round_trip();  // the processes meet
    const Clock::time_point began = Clock::now();
    int trips = 0;
    while (trips < kRoundTrips && Clock::now() - began < kLongest) {
      round_trip();
      ++trips;
    }
    talk.Say(std::chrono::duration<double, std::micro>(Clock::now() - began).count() / trips / 2);
    talk.Hear<bool>();  // the end of the process, whatever is open
  });
  const auto first = echo.talk().Hear<Place>();
  const auto second = caller.talk().Hear<Place>();
  echo.talk().Say(second);
  caller.talk().Say(first);
  const auto microseconds = caller.talk().Hear<double>();
  caller.Kill();
  echo.Kill();
  return microseconds;
}

double MedianOf(std::vector<double> figures) {
  std::sort(figures.begin(), figures.end());
  return figures[figures.size() / 2];
}

int Main() {
  setenv(sim::verbs::kProfileVariable, "p5", /*overwrite=*/1);
  std::printf("half a round trip of 64 B on p5, us, median of %zu sessions\n", kSessions);
  std::printf("%-12s %10s %10s %8s\n", "processors", "calls", "mapped", "ratio");
  cpu_set_t mine;
  sched_getaffinity(0, sizeof(mine), &mine);
  const auto all = static_cast<std::size_t>(CPU_COUNT(&mine));
  std::vector<std::size_t> counts = {1};
  if (all > 1) counts.push_back(all);
  for (const std::size_t processors : counts) {
    std::array<std::vector<double>, 2> figures;
    for (std::size_t i = 0; i < kSessions; ++i) {
      for (const bool mapped : {false, true})
        figures[mapped].push_back(Session(processors, mapped));
    }
    const double calls = MedianOf(figures[0]);
    const double queues = MedianOf(figures[1]);
    std::printf("%-12zu %10.1f %10.1f %8.2f\n", processors, calls, queues, queues / calls);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace drydock::sim_testing

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  return drydock::sim_testing::Main();
}
