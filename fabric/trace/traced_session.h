// The state that the objects of one traced fabric share.

#ifndef DRYDOCK_FABRIC_TRACE_TRACED_SESSION_H_
#define DRYDOCK_FABRIC_TRACE_TRACED_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "drydock/fabric/capture/payload.h"
#include "drydock/fabric/trace/event.h"
#include "drydock/fabric/trace/json_text.h"
#include "drydock/fabric/trace/recorder.h"

namespace drydock::fabric::trace {

// The recorder, the machine's number in it, and counters that name what is opened. Everything that
// is opened from one traced fabric shares its session. Ownership: the recorder and the payload must
// outlive it. Threads: thread-safe.
class TracedSession {
 public:
  TracedSession(Recorder& into, std::string_view machine, bool device, capture::Payload* bytes)
      : recorder(into),
        node(into.Node(machine)),
        device_completes(device),
        payload(bytes),
        program_track(into.TrackOf({node, TrackKind::kProgram, 0, ""})) {}

  Recorder& recorder;
  const std::uint16_t node;
  const bool device_completes;
  capture::Payload* const payload;  // null: no bytes are taken along
  const std::uint32_t program_track;

  // The next number of its kind on that NIC.
  std::uint32_t Number(const std::string& nic, TrackKind kind) {
    const std::lock_guard lock(mutex_);
    return numbers_[{nic, kind}]++;
  }

  std::uint32_t TrackOf(const std::string& nic, TrackKind kind, std::uint32_t number = 0) {
    return recorder.TrackOf({node, kind, number, nic});
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, TrackKind>, std::uint32_t> numbers_;
};

// An open object: records its opening when it is made, and its closing when it dies.
class TracedObject {
 public:
  // `members`: the object's properties at its opening.
  TracedObject(std::shared_ptr<TracedSession> session, std::string_view kind,
               const std::string& nic, const JsonMembers& members)
      : session_(std::move(session)),
        kind_(kind),
        id_(session_->recorder.NewObject()),
        nic_(session_->recorder.NicOf(session_->node, nic)),
        track_(session_->TrackOf(nic, TrackKind::kNic)) {
    Tell("open", members);
  }
  ~TracedObject() { Closed(); }
  TracedObject(const TracedObject&) = delete;
  TracedObject& operator=(const TracedObject&) = delete;

  std::uint32_t id() const { return id_; }
  // The recorder's number of its NIC.
  std::uint32_t nic() const { return nic_; }
  TracedSession& session() const { return *session_; }

  // Records the closing now. `members`: the object's properties at the end.
  void Closed(const JsonMembers& members = {}) {
    if (std::exchange(open_, false)) Tell("close", members);
  }

 private:
  void Tell(std::string_view event, const JsonMembers& members) {
    Recorder& recorder = session_->recorder;
    JsonMembers all;
    all.Text("event", event).Text("object", kind_).Unsigned("id", id_).Members(members.str());
    Event told;
    told.time_ns = recorder.Now();
    told.kind = Kind::kObject;
    told.track = track_;
    told.object = id_;
    // A region's bytes are no news of the last moment.
    told.text = recorder.Text(all.str(), /*flight=*/all.str().size() < 4096);
    recorder.Record(told);
  }

  const std::shared_ptr<TracedSession> session_;
  const std::string kind_;
  const std::uint32_t id_;
  const std::uint32_t nic_;
  const std::uint32_t track_;
  bool open_ = true;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_TRACED_SESSION_H_
