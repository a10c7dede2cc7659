// A program on a host, as small as can be: one queue pair, one completion queue, some memory, and
// the rings written by hand. For tests.

#ifndef DRYDOCK_SIM_HOSTS_TESTING_STATION_H_
#define DRYDOCK_SIM_HOSTS_TESTING_STATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/hosts/host.h"

namespace drydock::sim_testing {

// The default profile, with short timeouts. Static storage.
const sim::Profile& StationProfile();
// The same, and nothing is lost, placed twice or split on it.
const sim::Profile& CalmStationProfile();

// A network name that no other test, nor another run of this one, has.
std::string FreshFabric();

struct StationOptions {
  std::string fabric;
  bool cross_memory = true;
  // Of a rendezvous (sockets/testing/meeting.h); empty: there is none.
  std::string network;
  std::string key_file;
  bool shared_memory = true;
  const sim::Profile* profile = &StationProfile();
  std::size_t nic = 0;
  sim::QueuePairType type = sim::QueuePairType::kSrd;
  std::uint32_t rnr_retries = sim::kRetryForEver;
  bool unsolicited_immediates = true;
  sim::CounterSet counters;  // of its queue pair
  std::size_t memory_bytes = 1 << 20;
  // Applied by its devices; null: none.
  std::shared_ptr<fabric::faults::FaultEngine> faults;
};

// Where a station is, for others. Trivially copyable: it goes through pipes.
struct StationAddress {
  sim::Gid gid{};
  std::uint16_t queue_pair = 0;
  std::uint32_t qkey = 0;
  std::uint64_t memory = 0;
  std::uint32_t key = 0;
};

// A request: bytes of our memory and, of writes and reads, of the peer's.
struct StationWork {
  fabric::efa_queue::Operation operation = fabric::efa_queue::Operation::kSend;
  std::size_t local = 0;   // offset in our memory
  std::size_t remote = 0;  // and in the peer's
  std::uint32_t length = 0;
  std::optional<std::uint32_t> immediate;
  bool is_inline = false;
};

// Fails the test and ends the program when something that every test needs cannot be opened. Locks
// the host's mutex itself.
class Station {
 public:
  explicit Station(const StationOptions& options);
  ~Station();

  sim::Host& host() { return *host_; }
  sim::Nic& nic() { return *nic_; }  // to be used with the host's mutex held
  sim::HostCounters counters();
  sim::DeviceCounters device_counters();
  StationAddress address() const;
  std::span<std::byte> memory() { return memory_; }
  std::span<std::byte> Bytes(std::size_t offset, std::size_t length) {
    return std::span(memory_).subspan(offset, length);
  }

  // Memory that the device may use just now.
  void Fill(std::size_t offset, std::size_t length, std::uint64_t seed);
  bool Holds(std::size_t offset, std::size_t length, std::uint64_t seed);
  std::vector<std::byte> Copy(std::size_t offset, std::size_t length);

  // The number by which the device knows the peer from now on.
  std::uint16_t Introduce(const sim::Gid& gid);

  // Posts a request to `peer`, and rings; returns its number. `change`: makes it wrong.
  std::uint16_t Post(const StationAddress& peer, const StationWork& work,
                     const std::function<void(fabric::efa_queue::SendWork&)>& change = nullptr);
  // Requests that may be posted now.
  std::uint32_t room() const { return producer_->free(); }
  void PostReceive(std::size_t offset, std::uint32_t length, std::uint16_t number);
  // Destroys the queue pair, whose requests in flight end without completions, and creates a new
  // one.
  void ReplaceQueuePair();
  void Deregister();

  // Progresses, and takes the oldest completion if there is one.
  std::optional<fabric::efa_queue::Completion> Poll();
  // The next one; fails the test when none comes for a long time.
  fabric::efa_queue::Completion Wait();
  // Polls until `done`; fails the test when it takes too long.
  void PollUntil(const std::function<bool()>& done);
  // The next one of the same kind, without polling: the host's own thread has to bring it.
  fabric::efa_queue::Completion WaitIdly();
  // The status of the next completion, which is of a request of ours.
  int StatusOf(std::uint16_t request);

 private:
  void Open();
  std::optional<fabric::efa_queue::Completion> Take();

  const StationOptions options_;
  std::unique_ptr<sim::Host> host_;
  sim::Nic* nic_ = nullptr;
  sim::ProtectionDomain domain_ = 0;
  std::vector<std::byte> memory_;
  std::uint32_t local_key_ = 0;
  std::uint32_t remote_key_ = 0;
  std::shared_ptr<sim::CompletionRing> ring_;
  sim::QueuePair* queue_pair_ = nullptr;
  std::unique_ptr<fabric::efa_queue::Producer> producer_;
  std::unique_ptr<fabric::efa_queue::Producer> receive_producer_;
  std::vector<std::pair<sim::Gid, std::uint16_t>> handles_;
  std::uint16_t next_request_ = 1;
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_HOSTS_TESTING_STATION_H_
