#include "drydock/sim/capture/node_reader.h"

#include <algorithm>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/capture/read_capture.h"

namespace drydock::sim::capture {
namespace {

using fabric::Access;
using fabric::ErrorCode;
using fabric::OperationKind;
using nlohmann::json;

constexpr std::uint64_t kMostOperationBytes = 1 << 30;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// No trace has the values that an atomic found and left.
bool IsReplayed(OperationKind kind) { return kind != OperationKind::kAtomic; }

std::optional<ErrorCode> ErrorFromName(const std::string& name) {
  for (const fabric::ErrorInfo& info : fabric::ErrorTable()) {
    if (absl::EqualsIgnoreCase(View(info.name), name)) return info.code;
  }
  return std::nullopt;
}

Access ReadAccess(Fields& args) {
  static constexpr std::pair<const char*, Access> kWords[] = {
      {"send", Access::kSend},
      {"receive", Access::kReceive},
      {"write", Access::kWrite},
      {"read", Access::kRead},
      {"remote write", Access::kRemoteWrite},
      {"remote read", Access::kRemoteRead}};
  const json* list = args.List("access");
  if (list == nullptr) return Access::kAll;
  Access access = Access::kNone;
  for (const json& word : *list) {
    bool known = false;
    for (const auto& [name, right] : kWords) {
      if (word != name) continue;
      access = access | right;
      known = true;
    }
    if (!known) args.Refuse("access", "names a right that does not exist");
  }
  return access;
}

// Bytes in base64, `length` of them.
std::optional<std::string> ReadBytes(Fields& args, std::uint64_t length) {
  if (!args.Has("data")) return std::nullopt;
  std::string bytes;
  if (!absl::Base64Unescape(args.Text("data"), &bytes)) {
    args.Refuse("data", "is not base64");
  } else if (bytes.size() != length) {
    args.Refuse("data", absl::StrCat("holds ", bytes.size(), " bytes of ", length));
  }
  return bytes;
}

bool IsDigest(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::optional<OperationKind> KindFromName(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(OperationKind::kAtomic); ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (kind != OperationKind::kRemoteWrite && fabric::Name(kind) == name) return kind;
  }
  return std::nullopt;
}

void NodeReader::Read(const std::string& category, Fields& args, coro::Duration time) {
  if (!args.ok()) return;
  if (category == "object") ReadObject(args, time);
  if (category == "post") ReadPost(args, time);
  if (category == "poll") ReadPoll(args, time);
}

// ---- Objects ----

void NodeReader::ReadObject(Fields& args, coro::Duration time) {
  const std::string event = args.Text("event");
  const std::string object = args.Text("object");
  if (!args.ok()) return;
  if (event == "open") {
    if (open_.size() >= kMostObjects) {
      return args.Refuse(absl::StrCat("more than ", kMostObjects, " objects are open"));
    }
    Open(object, args, time);
  } else if (event == "close") {
    Close(object, args, time);
  } else {
    args.Refuse("event", "is neither open nor close");
  }
}

void NodeReader::Open(const std::string& object, Fields& args, coro::Duration time) {
  const std::uint64_t id = args.Number("id");
  if (!args.ok()) return;
  if (open_.count(id) > 0) return args.Refuse("id", absl::StrCat("is ", id, ", which is open"));
  if (object == "nic") return OpenNic(args, id);
  if (object == "region") return OpenRegion(args, id, time);
  if (object == "endpoint") return OpenEndpoint(args, id, time);
  if (object == "peer") return OpenPeer(args, id, time);
  if (object == "completion queue") {
    node_.queues.push_back({id, NicOf(args)});
    open_[id] = {object, node_.queues.size() - 1};
  } else if (object == "address vector") {
    node_.vectors.push_back({id, NicOf(args)});
    open_[id] = {object, node_.vectors.size() - 1};
  } else {
    ++totals_.left_out[Shown(object)];
  }
}

// One NIC may be opened several times.
void NodeReader::OpenNic(Fields& args, std::uint64_t id) {
  const std::string name = args.Text("name");
  const auto found = std::find(node_.nics.begin(), node_.nics.end(), name);
  open_[id] = {"nic", static_cast<Index>(found - node_.nics.begin())};
  if (found == node_.nics.end()) node_.nics.push_back(name);
}

Index NodeReader::NicOf(Fields& args) {
  const std::string name = args.Text("nic");
  const auto found = std::find(node_.nics.begin(), node_.nics.end(), name);
  if (found != node_.nics.end()) return static_cast<Index>(found - node_.nics.begin());
  args.Refuse("nic", absl::StrCat("is ", Shown(name), ", which was not opened"));
  return 0;
}

void NodeReader::OpenRegion(Fields& args, std::uint64_t id, coro::Duration time) {
  Region region{.id = id, .nic = NicOf(args), .opened = time};
  region.length = args.Number("length", kMostMemory);
  region.memory = args.Number("memory", UINT64_MAX, /*absent=*/0);
  region.remote.address = args.Number("address");
  region.remote.key = args.Number("key");
  region.access = ReadAccess(args);
  region.began_zero = args.Flag("zero", false);
  region.began = ReadBytes(args, region.length);
  NeedMemory(args, region.length);
  if (region.length == 0) args.Refuse("length", "is 0");
  if (region.length > UINT64_MAX - region.memory ||
      region.length > UINT64_MAX - region.remote.address) {
    args.Refuse("address", "leaves no room for its length");
  }
  node_.regions.push_back(std::move(region));
  open_[id] = {"region", node_.regions.size() - 1};
  Add(StepKind::kOpenRegion, node_.regions.size() - 1, time);
}

fabric::Address NodeReader::ReadAddress(Fields& args) {
  const auto address = fabric::Address::Parse(args.Text("address"));
  if (address.ok()) return *address;
  args.Refuse("address", "is no hexadecimal address");
  return {};
}

void NodeReader::OpenEndpoint(Fields& args, std::uint64_t id, coro::Duration time) {
  Endpoint endpoint{.id = id, .nic = NicOf(args), .opened = time};
  endpoint.address = ReadAddress(args);
  endpoint.send_queue = Known(args, "send_queue", "completion queue");
  endpoint.receive_queue = Known(args, "receive_queue", "completion queue");
  endpoint.vector = Known(args, "address_vector", "address vector");
  if (args.Has("type") && args.Text("type") != "reliable") {
    args.Refuse("type", "is not reliable: a replay has no datagrams");
  }
  if (!args.ok()) return;
  if (node_.queues[endpoint.send_queue].nic != endpoint.nic ||
      node_.queues[endpoint.receive_queue].nic != endpoint.nic ||
      node_.vectors[endpoint.vector].nic != endpoint.nic) {
    args.Refuse("the endpoint's queues and address vector are another NIC's");
  }
  node_.endpoints.push_back(endpoint);
  open_[id] = {"endpoint", node_.endpoints.size() - 1};
  Add(StepKind::kOpenEndpoint, node_.endpoints.size() - 1, time);
}

void NodeReader::OpenPeer(Fields& args, std::uint64_t id, coro::Duration time) {
  PeerEntry peer{.id = id, .vector = Known(args, "address_vector", "address vector")};
  peer.number = args.Number("peer");
  peer.address = ReadAddress(args);
  if (!args.ok()) return;
  node_.peers.push_back(peer);
  const Index index = node_.peers.size() - 1;
  open_[id] = {"peer", index};
  peers_[{peer.vector, peer.number}] = index;
  Add(StepKind::kInsertPeer, index, time);
}

void NodeReader::Close(const std::string& object, Fields& args, coro::Duration time) {
  static const std::map<std::string, StepKind> kSteps = {{"region", StepKind::kCloseRegion},
                                                         {"endpoint", StepKind::kCloseEndpoint},
                                                         {"peer", StepKind::kRemovePeer}};
  static const std::set<std::string> kNoSteps = {"nic", "completion queue", "address vector"};
  const auto step = kSteps.find(object);
  if (step == kSteps.end() && kNoSteps.count(object) == 0) return;
  const Index index = Known(args, "id", object);
  if (!args.ok()) return;
  open_.erase(args.Number("id"));
  if (step == kSteps.end()) return;
  if (object == "region" && args.Has("digest")) {
    node_.regions[index].digest = args.Text("digest");
    if (!IsDigest(node_.regions[index].digest)) {
      args.Refuse("digest", "is not 32 hexadecimal digits");
    }
  }
  if (object == "peer") {
    // Unless another one has its number already.
    const auto peer = peers_.find({node_.peers[index].vector, node_.peers[index].number});
    if (peer != peers_.end() && peer->second == index) peers_.erase(peer);
  }
  Add(step->second, index, time);
}

Index NodeReader::Known(Fields& args, const char* key, const std::string& object) {
  const std::uint64_t id = args.Number(key);
  if (!args.ok()) return 0;
  const auto found = open_.find(id);
  if (found != open_.end() && found->second.first == object) return found->second.second;
  args.Refuse(key, absl::StrCat("is ", id, ", which is no open ", object, " of this machine"));
  return 0;
}

// ---- Operations ----

void NodeReader::ReadPost(Fields& args, coro::Duration time) {
  const std::string name = args.Text("kind");
  const std::optional<OperationKind> kind = KindFromName(name);
  if (!kind.has_value()) return args.Refuse("kind", "is no kind of operation");
  if (args.Has("result") && args.Text("result") != "accepted") return;  // it had no effect
  Operation operation{.number = args.Number("op"), .kind = *kind, .posted = time};
  if (!args.ok()) return;
  if (operations_.count(operation.number) + skipped_.count(operation.number) > 0) {
    return args.Refuse("op", absl::StrCat("is ", operation.number, " for the second time"));
  }
  if (++totals_.operations > kMostOperations) {
    return args.Refuse(absl::StrCat("more than ", kMostOperations, " operations"));
  }
  if (!IsReplayed(*kind)) {
    ++totals_.left_out[name];
    skipped_.insert(operation.number);
    return;
  }
  operation.endpoint = Known(args, "endpoint", "endpoint");
  ReadSegments(args, operation);
  if (operation.sends()) operation.data = ReadBytes(args, operation.bytes);
  if (args.Has("imm")) {
    operation.immediate = static_cast<std::uint32_t>(args.Number("imm", UINT32_MAX));
  }
  if (IsTagged(operation.kind)) operation.tag = args.Number("tag");
  if (operation.kind == OperationKind::kTaggedReceive) operation.ignore = args.Number("ignore");
  operation.signalled = args.Flag("signalled", true);
  operation.inject = args.Flag("inject", false);
  ReadRemote(args, operation);
  if (!args.ok()) return;
  operations_[operation.number] = node_.operations.size();
  Add(StepKind::kPost, node_.operations.size(), time);
  node_.operations.push_back(std::move(operation));
}

void NodeReader::ReadRemote(Fields& args, Operation& operation) {
  if (!args.ok() || !operation.sends()) return;
  const auto peer = peers_.find({node_.endpoints[operation.endpoint].vector, args.Number("peer")});
  if (peer != peers_.end()) operation.peer = peer->second;
  if (IsMessage(operation.kind)) return;
  if (operation.segments.size() > 1) return args.Refuse("segments", "are more than one");
  const json* remote = args.Object("remote");
  if (remote == nullptr) return args.Refuse("remote", "is missing");
  Fields fields(*remote, absl::StrCat(args.place(), ", remote"));
  operation.remote = {fields.Number("address"), fields.Number("key")};
  if (!fields.ok()) args.Refuse("remote", "has no address and key");
}

void NodeReader::ReadSegments(Fields& args, Operation& operation) {
  const json* segments = args.List("segments");
  if (segments == nullptr || !args.ok()) return;
  if (segments->size() > kMostSegments) {
    return args.Refuse("segments", absl::StrCat("are more than ", kMostSegments));
  }
  for (const json& element : *segments) {
    Fields segment(element, absl::StrCat(args.place(), ", a segment"));
    ReadSegment(segment, operation);
    if (!segment.ok()) return args.Take(segment.status());
  }
}

void NodeReader::ReadSegment(Fields& segment, Operation& operation) {
  Segment read{.length = segment.Number("length", kMostOperationBytes)};
  operation.bytes += read.length;
  if (operation.bytes > kMostOperationBytes)
    segment.Refuse("length", "is too much with the others");
  if (segment.Has("region")) {
    read.region = Known(segment, "region", "region");
    read.offset = segment.Number("offset");
    if (!segment.ok()) return;
    const std::uint64_t length = node_.regions[read.region].length;
    if (read.offset > length || read.length > length - read.offset) {
      return segment.Refuse("offset", absl::StrCat("is ", read.offset, ": with ", read.length,
                                                   " bytes past the region's ", length));
    }
  }
  // Bytes of a message that lay in no region are in memory of their own here.
  if (read.region == kNowhere) NeedMemory(segment, read.length);
  operation.segments.push_back(read);
}

void NodeReader::NeedMemory(Fields& args, std::uint64_t length) {
  totals_.memory += length;
  if (totals_.memory > kMostMemory) {
    args.Refuse(absl::StrCat("all memory together has over ", kMostMemory, " bytes"));
  }
}

// ---- Completions ----

void NodeReader::Ended(std::uint64_t number, OperationKind kind) {
  if (operations_.count(number) + skipped_.count(number) > 0) return;
  if (!foreign_.insert(number).second) return;
  ++totals_.left_out[absl::StrCat(View(fabric::Name(kind)), " posted by a device")];
}

ErrorCode NodeReader::ReadStatus(Fields& args, const std::string& name) {
  const std::optional<ErrorCode> code = ErrorFromName(name);
  if (!code.has_value()) args.Refuse(absl::StrCat("no error is called ", Shown(name)));
  return code.value_or(ErrorCode::kOther);
}

void NodeReader::ReadGot(Fields& args) {
  const json* reads = args.List("reads");
  if (reads == nullptr || !args.ok()) return;
  for (const json& element : *reads) {
    Fields read(element, absl::StrCat(args.place(), ", a read"));
    const auto found = operations_.find(read.Number("op"));
    const bool known =
        found != operations_.end() && node_.operations[found->second].kind == OperationKind::kRead;
    if (read.ok() && !known) read.Refuse("op", "is no read");
    if (!read.ok()) return args.Take(read.status());
    Operation& operation = node_.operations[found->second];
    operation.data = ReadBytes(read, operation.bytes);
    args.Take(read.status());
  }
}

void NodeReader::ReadPoll(Fields& args, coro::Duration time) {
  Seen seen{.queue = Known(args, "queue", "completion queue")};
  ReadGot(args);
  const json* numbers = args.List("ops");
  const json* statuses = args.List("statuses");
  if (numbers == nullptr || !args.ok()) return;
  if (statuses != nullptr && statuses->size() != numbers->size()) {
    return args.Refuse("statuses", "are not as many as the operations");
  }
  for (std::size_t i = 0; i < numbers->size() && args.ok(); ++i) {
    std::uint64_t number = 0;
    if (!ReadNumber((*numbers)[i], number)) return args.Refuse("ops", "holds what is no number");
    seen.status = ErrorCode::kOk;
    if (statuses != nullptr) {
      const json& status = (*statuses)[i];
      if (!status.is_string()) return args.Refuse("statuses", "holds what is no text");
      seen.status = ReadStatus(args, status.get_ref<const std::string&>());
    }
    ReadPolled(args, seen, number, time);
  }
}

void NodeReader::ReadPolled(Fields& args, Seen seen, std::uint64_t number, coro::Duration time) {
  if (skipped_.count(number) > 0) return;
  if (number != 0) {
    const auto found = operations_.find(number);
    if (found == operations_.end()) {
      return args.Refuse("ops", absl::StrCat("holds ", number, ", which was not posted"));
    }
    Operation& operation = node_.operations[found->second];
    if (operation.status.has_value()) {
      return args.Refuse("ops", absl::StrCat("holds ", number, " for the second time"));
    }
    operation.status = seen.status;
    seen.operation = found->second;
  }
  if (node_.seen.size() >= 2 * kMostOperations) return args.Refuse("too many completions");
  Add(StepKind::kRead, node_.seen.size(), time);
  node_.seen.push_back(seen);
}

}  // namespace drydock::sim::capture
