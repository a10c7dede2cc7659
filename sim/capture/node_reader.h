// Reads the events of one machine of a trace into a Node.

#ifndef DRYDOCK_SIM_CAPTURE_NODE_READER_H_
#define DRYDOCK_SIM_CAPTURE_NODE_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/fields.h"
#include "nlohmann/json.hpp"

namespace drydock::sim::capture {

// The totals over all machines of a capture.
struct Totals {
  std::uint64_t memory = 0;  // bytes of all regions
  std::size_t operations = 0;
  std::map<std::string, std::uint64_t> left_out;
};

// Of an operation that a program posts.
std::optional<fabric::OperationKind> KindFromName(const std::string& name);

// Not thread-safe. Node and totals outlive it. Errors go to the Fields that it is given.
class NodeReader {
 public:
  NodeReader(Node& node, Totals& totals) : node_(node), totals_(totals) {}

  // One event: its category, its arguments, and its time.
  void Read(const std::string& category, Fields& args, coro::Duration time);
  // A device reported the end of an operation of this machine, after all has been read: one that
  // the program has not posted is the work of another device, as a GPU is.
  void Ended(std::uint64_t number, fabric::OperationKind kind);

 private:
  void ReadObject(Fields& args, coro::Duration time);
  void Open(const std::string& object, Fields& args, coro::Duration time);
  void Close(const std::string& object, Fields& args, coro::Duration time);
  void OpenNic(Fields& args, std::uint64_t id);
  void OpenRegion(Fields& args, std::uint64_t id, coro::Duration time);
  void OpenEndpoint(Fields& args, std::uint64_t id, coro::Duration time);
  void OpenPeer(Fields& args, std::uint64_t id, coro::Duration time);
  void ReadPost(Fields& args, coro::Duration time);
  void ReadSegments(Fields& args, Operation& operation);
  void ReadSegment(Fields& segment, Operation& operation);
  void NeedMemory(Fields& args, std::uint64_t length);
  void ReadRemote(Fields& args, Operation& operation);
  void ReadPoll(Fields& args, coro::Duration time);
  void ReadPolled(Fields& args, Seen seen, std::uint64_t number, coro::Duration time);

  // The bytes that the reads of a poll have got.
  void ReadGot(Fields& args);
  // The NIC that an object belongs to, by its name.
  Index NicOf(Fields& args);
  // Of the object that `key` names, which is of this kind and open. kNowhere: refused.
  Index Known(Fields& args, const char* key, const std::string& object);
  fabric::Address ReadAddress(Fields& args);
  fabric::ErrorCode ReadStatus(Fields& args, const std::string& name);
  void Add(StepKind kind, Index index, coro::Duration time) {
    node_.steps.push_back({time, kind, index});
  }

  Node& node_;
  Totals& totals_;
  std::map<std::uint64_t, std::pair<std::string, Index>> open_;  // by id
  std::map<std::pair<Index, std::uint64_t>, Index> peers_;       // by vector and number
  std::map<std::uint64_t, Index> operations_;                    // by number
  std::set<std::uint64_t> skipped_;                              // numbers of those left out
  std::set<std::uint64_t> foreign_;                              // numbers of a device's own
};

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_NODE_READER_H_
