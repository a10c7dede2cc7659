// --trace=FILE of efa-run: records the requests to this process's NICs and their work, in the
// format of every trace (docs/trace-format.md). One file a process, and one more for each time that
// it has done some work, closes all its devices and opens one again.

#ifndef DRYDOCK_SIM_VERBS_TRACE_H_
#define DRYDOCK_SIM_VERBS_TRACE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/trace/event.h"
#include "drydock/fabric/trace/json_text.h"
#include "drydock/fabric/trace/posted_work.h"
#include "drydock/fabric/trace/recorder.h"
#include "drydock/sim/device/nic.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/tracing/world_trace.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::verbs {

// "out.json" of process 17: "out.17.json"; of its second life: "out.17.2.json".
std::string TraceFileOf(const std::string& file, int pid, int life = 1);

// Not thread-safe: belongs to its world. Objects are known by their addresses. An object whose
// opening was not recorded is not in the trace.
class Trace {
 public:
  // kUnavailable: the file cannot be made. The world, and `engine` where there is one, outlive the
  // trace.
  static absl::StatusOr<std::unique_ptr<Trace>> Open(const std::string& file, int life,
                                                     World& world, std::uint64_t seed,
                                                     fabric::faults::FaultEngine* engine);
  // Writes the file, unless that was done, or this is a forked child.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Writes the file now; later events are not in it.
  void Write();
  // False in a forked child, whose copy of the world must not be touched.
  bool mine() const;
  // Nothing was posted: the program has only listed the devices, as fi_getinfo does.
  bool idle() const { return idle_; }

  // --- Objects ---
  struct Region {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint32_t local_key = 0;
    std::uint32_t remote_key = 0;
    fabric::Access access = fabric::Access::kNone;
  };
  void OpenedNic(const void* object, const Nic& nic);
  void OpenedRegion(const void* object, const Nic& nic, const Region& region);
  void OpenedQueue(const void* object, const Nic& nic, std::uint32_t depth);
  // It has its address: its qkey was set.
  void OpenedEndpoint(const void* object, const Nic& nic, const sim::QueuePair& device,
                      const void* sends, const void* receives);
  // The peer that this address handle of the NIC leads to.
  void NamedPeer(const Nic& nic, std::uint16_t handle, const Gid& gid);
  void Closed(const void* object);

  // --- Work ---
  void Posted(const void* endpoint, const fabric::efa_queue::SendWork& work);
  void Posted(const void* endpoint, const fabric::efa_queue::ReceiveWork& work);
  void Rang(const void* endpoint, bool receives, std::uint32_t count);
  // Which operation the entry is the end of; 0: of none that was told of.
  std::uint64_t Ended(const void* endpoint, const fabric::efa_queue::Completion& entry);
  // The fields of an entry that a poll has told the program.
  struct Read {
    std::uint64_t op = 0;  // as Ended has it
    std::uint8_t status = 0;
  };
  void Polled(const void* queue, const std::vector<Read>& entries);

 private:
  struct Object {
    std::string kind;
    std::string nic;
    std::uint32_t id = 0;
    std::uint32_t track = 0;     // of what is drawn of it
    std::uint32_t receives = 0;  // endpoint: the track of its receives
    std::uint32_t vector = 0;    // endpoint: its address vector
    std::uint32_t nic_index = 0;
    std::uint32_t nic_number = 0;  // at the recorder
    bool datagram = false;
    Region region;
    fabric::Address address;                                          // endpoint
    std::shared_ptr<fabric::trace::PostedWork> work;                  // endpoint
    std::map<std::pair<bool, std::uint64_t>, std::uint64_t> pending;  // receive?, request: number
    // By address, not by handle: a handle's number is another's when it has gone.
    std::map<std::tuple<Gid, std::uint16_t, std::uint32_t>, std::uint64_t> peers;
  };

  Trace(std::string path, World& world, std::uint64_t seed, fabric::faults::FaultEngine* engine);

  std::string ShortName(const Nic& nic) const;
  std::uint32_t Number(const std::string& nic, fabric::trace::TrackKind kind);
  // Null: it is not known.
  Object* Find(const void* object);
  // Tells that something opens, and returns its id.
  std::uint32_t TellOpen(std::string_view kind, const std::string& nic,
                         const fabric::trace::JsonMembers& members);
  void Tell(std::string_view event, std::string_view kind, const std::string& nic, std::uint32_t id,
            const fabric::trace::JsonMembers& members);
  Object& Add(const void* object, std::string_view kind, const Nic& nic,
              fabric::trace::JsonMembers members);
  std::uint64_t PeerOf(Object& endpoint, const fabric::efa_queue::SendWork& work);
  void AddSegment(const Object& endpoint, std::uint64_t address, std::uint64_t bytes,
                  std::uint32_t key);
  // Returns its number.
  std::uint64_t RecordPost(Object& endpoint, fabric::trace::Event post);

  const std::string path_;
  const int pid_;
  bool idle_ = true;
  fabric::trace::Recorder recorder_;
  std::unique_ptr<WorldTrace> devices_;  // null: written
  const std::uint16_t node_;
  std::map<const void*, Object> objects_;
  std::map<std::pair<std::string, fabric::trace::TrackKind>, std::uint32_t> numbers_;
  std::map<std::pair<std::uint32_t, std::uint16_t>, Gid> handles_;  // by NIC and number
  std::vector<fabric::trace::Event> segments_;                      // of the post that is told
};

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_TRACE_H_
