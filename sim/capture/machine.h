// One machine of a capture, on the simulator: opens the objects and posts the requests of its
// program again.

#ifndef DRYDOCK_SIM_CAPTURE_MACHINE_H_
#define DRYDOCK_SIM_CAPTURE_MACHINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/capture/capture.h"

namespace drydock::sim::capture {

// The outcome of an operation.
struct Outcome {
  fabric::ErrorCode posted = fabric::ErrorCode::kAgain;  // kAgain: not yet
  std::optional<fabric::ErrorCode> status;               // of its completion
  std::uint64_t number = 0;  // among the accepted ones of its kind on its endpoint, from 1
};

// A completion that the replay has read.
struct ReadBack {
  Index queue = 0;
  Index operation = kNowhere;
  fabric::OperationKind kind = fabric::OperationKind::kSend;
  fabric::ErrorCode status = fabric::ErrorCode::kOk;
  coro::Duration time{};      // since the replay began
  std::uint64_t arrival = 0;  // among the successes of its kind on this machine, from 1
};

// Not thread-safe. The captured node, and machines that it is told of, outlive it.
class Machine {
 public:
  // Opens NICs, queues and address vectors. kInvalidArgument: the capture has more NICs than the
  // machine.
  static absl::StatusOr<std::unique_ptr<Machine>> Open(const Node& node,
                                                       std::unique_ptr<fabric::Fabric> fabric);

  // --- Steps of the program ---
  absl::Status OpenRegion(Index index);
  void CloseRegion(Index index);
  absl::Status OpenEndpoint(Index index);
  void CloseEndpoint(Index index);
  absl::Status InsertPeer(Index index, const fabric::Address& address);
  void RemovePeer(Index index);
  // Puts the operation's data into its memory, and posts it. `remote`: where it goes here. kAgain:
  // nothing happened.
  fabric::ErrorCode Post(Index index, const fabric::RemoteBuffer& remote);

  // Reads all queues until they are empty.
  void Poll(coro::Duration now);

  const Node& node() const { return node_; }
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  // It will not be posted.
  void GiveUp(Index operation, fabric::ErrorCode why) { outcomes_[operation].posted = why; }
  const std::vector<ReadBack>& read_back() const { return read_back_; }
  // Of the queue: completions without an operation.
  std::uint64_t unsolicited(Index queue) const { return unsolicited_[queue]; }
  // In the order of opening, as fault plans number them; absent: not opened yet.
  std::optional<std::uint32_t> endpoint_number(Index endpoint) const;
  std::optional<fabric::Address> address(Index endpoint) const;
  // Absent: not opened yet.
  std::optional<fabric::RemoteBuffer> remote(Index region) const;
  // Bytes of a region that was opened; null: it was not.
  std::byte* bytes(Index region) const { return memory_[region].get(); }
  // Of the bytes when the region was closed; empty: it was not.
  const std::string& digest(Index region) const { return digests_[region]; }

 private:
  explicit Machine(const Node& node);

  // Memory of the program in which regions lie that overlap.
  struct Stretch {
    std::uint64_t begin = 0;  // where the program had it
    std::uint64_t end = 0;
    std::size_t open = 0;  // regions
    std::shared_ptr<std::byte> bytes;
  };

  absl::Status OpenQueues();
  void FindStretches();
  absl::StatusOr<std::shared_ptr<std::byte>> MemoryOf(Index region);
  absl::StatusOr<std::vector<fabric::LocalBuffer>> BuffersOf(const Operation& operation);
  fabric::ErrorCode PostTo(fabric::Endpoint& endpoint, const Operation& operation, Index index,
                           const std::vector<fabric::LocalBuffer>& buffers,
                           const fabric::RemoteBuffer& remote);
  void Note(Index queue, const fabric::Completion& completion, coro::Duration now);

  const Node& node_;
  // Last opened first closed: objects before what they were opened from.
  std::unique_ptr<fabric::Fabric> fabric_;
  std::vector<std::unique_ptr<fabric::Domain>> domains_;         // by NIC
  std::vector<std::unique_ptr<fabric::AddressVector>> vectors_;  // by index, like all below
  std::vector<std::unique_ptr<fabric::CompletionQueue>> queues_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<std::unique_ptr<fabric::MemoryRegion>> regions_;
  std::vector<bool> region_open_;
  std::vector<Stretch> stretches_;
  std::vector<Index> stretch_of_;  // by region; kNowhere: it is not known where it lay
  std::map<std::pair<Index, Index>, std::shared_ptr<std::byte>> loose_memory_;  // operation, piece
  std::map<std::pair<Index, Index>, std::unique_ptr<fabric::MemoryRegion>> loose_regions_;
  std::vector<std::unique_ptr<fabric::Endpoint>> endpoints_;
  std::vector<std::optional<std::uint32_t>> endpoint_numbers_;
  std::vector<std::optional<fabric::Address>> addresses_;
  std::uint32_t opened_endpoints_ = 0;
  std::vector<std::optional<fabric::Peer>> peers_;
  std::vector<std::string> digests_;
  std::vector<Outcome> outcomes_;
  std::map<std::pair<Index, fabric::OperationKind>, std::uint64_t> accepted_;  // by endpoint
  std::map<fabric::OperationKind, std::uint64_t> arrived_;
  std::vector<ReadBack> read_back_;
  std::vector<std::uint64_t> unsolicited_;  // by queue
};

// The bytes that stand for data which the capture does not hold: another pattern for each
// operation.
void FillFor(std::uint64_t operation, std::byte* bytes, std::uint64_t length);

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_MACHINE_H_
