#include "drydock/fabric/trace/event_arguments.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/trace/layout.h"

namespace drydock::fabric::trace {
namespace {

std::string_view StatusName(ErrorCode error) {
  return error == ErrorCode::kOk ? "ok" : fabric::Name(error);
}

std::string_view TextOf(const Recording& recording, const Event& event) {
  if (event.text == kNone || event.text > recording.texts.size()) return "";
  return recording.texts[event.text - 1];
}

// The value of a member that is a string, as it is in the JSON, without quotes; empty: none.
std::string_view RawString(std::string_view members, std::string_view name) {
  const std::string before = absl::StrCat("\"", std::string(name), "\":\"");
  const std::size_t begin = members.find(before);
  if (begin == std::string_view::npos) return "";
  std::size_t end = begin + before.size();
  while (end < members.size() && members[end] != '"') end += members[end] == '\\' ? 2 : 1;
  if (end >= members.size()) return "";
  return members.substr(begin + before.size(), end - begin - before.size());
}

std::string Quoted(std::string_view first, std::string_view raw) {
  std::string text = "\"";
  text += first;
  if (!first.empty() && !raw.empty()) text += " ";
  text += raw;
  return text + "\"";
}

std::string SegmentsOf(const Recording& recording, std::size_t index) {
  std::string json;
  for (std::size_t i = index + 1; i <= index + PartsOf(recording, index); ++i) {
    const Event& segment = recording.events[i];
    JsonMembers members;
    if (segment.object != kNone) {
      members.Unsigned("region", segment.object).Unsigned("offset", segment.offset);
    } else {
      members.Hex("address", segment.address);
    }
    members.Unsigned("length", segment.bytes);
    absl::StrAppend(&json, json.empty() ? "{" : ",{", members.str(), "}");
  }
  return absl::StrCat("[", json, "]");
}

void AddPost(const Recording& recording, std::size_t index, JsonMembers& members) {
  const Event& event = recording.events[index];
  const bool tagged = event.operation == OperationKind::kTaggedSend ||
                      event.operation == OperationKind::kTaggedReceive;
  if (event.op != 0) members.Unsigned("op", event.op);
  members.Text("kind", fabric::Name(event.operation)).Unsigned("bytes", event.bytes);
  members.Unsigned("endpoint", event.object);
  if ((event.flags & kHasPeer) != 0) members.Unsigned("peer", event.peer);
  members.Raw("segments", SegmentsOf(recording, index));
  if ((event.flags & kHasRemote) != 0) {
    JsonMembers remote;
    remote.Hex("address", event.address).Hex("key", event.key);
    members.Raw("remote", absl::StrCat("{", remote.str(), "}"));
  }
  if ((event.flags & kHasImmediate) != 0) members.Unsigned("imm", event.immediate);
  if (tagged) members.Hex("tag", event.offset);
  if (event.operation == OperationKind::kTaggedReceive) members.Hex("ignore", event.peer);
  members.Bool("signalled", (event.flags & kSignalled) != 0);
  members.Bool("inject", (event.flags & kInject) != 0);
  members.Text("result", event.error == ErrorCode::kOk ? "accepted" : fabric::Name(event.error));
}

void AddPacket(const Recording& recording, const Event& event, JsonMembers& members) {
  std::string_view fate = "lost";
  if ((event.flags & kArrives) != 0) fate = "arrives";
  if ((event.flags & kArrives) != 0 && (event.flags & kRetransmitted) != 0) fate = "retransmitted";
  if ((event.flags & kTwice) != 0) fate = "twice";
  members.Unsigned("op", event.op).Unsigned("op_node", event.op_node);
  members.Unsigned("node_from", recording.tracks[event.track - 1].node);
  members.Unsigned("node_to", event.node).Unsigned("bytes", event.bytes);
  members.Unsigned("packet", event.immediate).Text("fate", fate);
}

void AddPlace(const Event& event, JsonMembers& members) {
  if (event.op != 0) members.Unsigned("op", event.op).Unsigned("op_node", event.op_node);
  if (event.object != kNone) {
    members.Unsigned("region", event.object).Unsigned("offset", event.offset);
  } else {
    members.Hex("address", event.address);
  }
  members.Unsigned("bytes", event.bytes);
}

void AddCompletion(const Event& event, JsonMembers& members) {
  if (event.op != 0) members.Unsigned("op", event.op).Unsigned("op_node", event.op_node);
  members.Unsigned("queue", event.object).Text("kind", fabric::Name(event.operation));
  members.Text("status", StatusName(event.error));
  if (event.error != ErrorCode::kOk) members.Number("provider_error", event.provider_error);
  if (event.bytes != 0) members.Unsigned("length", event.bytes);
  if ((event.flags & kHasImmediate) != 0) members.Unsigned("imm", event.immediate);
}

void AddPoll(const Recording& recording, std::size_t index, JsonMembers& members) {
  const Event& event = recording.events[index];
  std::string operations, statuses;
  for (std::size_t i = index + 1; i <= index + PartsOf(recording, index); ++i) {
    const Event& read = recording.events[i];
    const std::string_view comma = i == index + 1 ? "" : ",";
    operations.append(comma).append(std::to_string(read.op));
    statuses.append(comma).append(JsonString(StatusName(read.error)));
  }
  members.Unsigned("queue", event.object).Unsigned("count", event.bytes);
  if (event.error != ErrorCode::kOk) members.Text("error", fabric::Name(event.error));
  members.Raw("ops", absl::StrCat("[", operations, "]"));
  members.Raw("statuses", absl::StrCat("[", statuses, "]"));
}

std::string_view PacketMark(const Event& event) {
  if ((event.flags & kArrives) == 0) return "lost";
  if ((event.flags & kTwice) != 0) return "twice";
  return (event.flags & kRetransmitted) != 0 ? "retransmitted" : "";
}

}  // namespace

std::string SliceName(const Recording& recording, const Event& event) {
  const std::string_view text = TextOf(recording, event);
  const std::string bytes = absl::StrCat(event.bytes, " B");
  const std::string operation(fabric::Name(event.operation));
  switch (event.kind) {
    case Kind::kPost:
      return Quoted(absl::StrCat(operation, " ", bytes),
                    event.error == ErrorCode::kOk ? "" : fabric::Name(event.error));
    case Kind::kDoorbell:
      return Quoted("doorbell", std::to_string(event.bytes));
    case Kind::kPacket:
      return Quoted(absl::StrCat("packet ", event.immediate, ", ", bytes), PacketMark(event));
    case Kind::kPlace:
      return Quoted("place", bytes);
    case Kind::kCompletion:
      return Quoted(operation, StatusName(event.error));
    case Kind::kPoll:
      return Quoted("poll", event.error == ErrorCode::kOk ? std::to_string(event.bytes)
                                                          : std::string(Name(event.error)));
    case Kind::kResume:
      return Quoted("resume", std::to_string(event.op));
    case Kind::kFault:
      return Quoted("fault", RawString(text, "what"));
    case Kind::kCheck:
      return Quoted("check", RawString(text, "check"));
    default:
      return Quoted(RawString(text, "event"), RawString(text, "object"));
  }
}

JsonMembers Arguments(const Recording& recording, std::size_t index) {
  const Event& event = recording.events[index];
  JsonMembers members;
  switch (event.kind) {
    case Kind::kPost:
      AddPost(recording, index, members);
      break;
    case Kind::kDoorbell:
      members.Unsigned("endpoint", event.object).Unsigned("count", event.bytes);
      break;
    case Kind::kPacket:
      AddPacket(recording, event, members);
      break;
    case Kind::kPlace:
      AddPlace(event, members);
      break;
    case Kind::kCompletion:
      AddCompletion(event, members);
      break;
    case Kind::kPoll:
      AddPoll(recording, index, members);
      break;
    case Kind::kResume:
      members.Unsigned("op", event.op);
      break;
    default:
      break;
  }
  return members.Members(TextOf(recording, event));
}

}  // namespace drydock::fabric::trace
