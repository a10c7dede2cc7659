#include "drydock/sim/verbs/trace.h"

#include <errno.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/trace/perfetto.h"
#include "drydock/sim/verbs/telling.h"

namespace drydock::sim::verbs {
namespace {

namespace efa = fabric::efa_queue;

using fabric::OperationKind;
using fabric::trace::Event;
using fabric::trace::JsonMembers;
using fabric::trace::Kind;
using fabric::trace::PostedWork;
using fabric::trace::TrackKind;

// As those of other programs have (apps/common/trace_flags.cc): about 200 MB.
constexpr std::size_t kMostEvents = std::size_t{1} << 21;

fabric::trace::RecorderOptions OptionsFor(std::uint64_t seed, const std::string& profile) {
  fabric::trace::RecorderOptions options;
  options.info.program = program_invocation_short_name;
  options.info.backend = absl::StrCat("libibverbs over simulated EFA (profile ", profile, ")");
  options.info.simulated = true;
  options.info.seed = seed;
  options.capacity = kMostEvents;
  return options;
}

std::string MachineOf(const World& world) {
  const std::string& name = world.nics()[0].name;  // "machine-0/rdmap79s0"
  return name.substr(0, name.find('/'));
}

}  // namespace

std::string TraceFileOf(const std::string& file, int pid, int life) {
  const std::string number = life == 1 ? absl::StrCat(pid) : absl::StrCat(pid, ".", life);
  const std::size_t slash = file.rfind('/');
  const std::size_t dot = file.rfind('.');
  const bool extension =
      dot != std::string::npos && dot > (slash == std::string::npos ? 0 : slash + 1);
  if (!extension) return absl::StrCat(file, ".", number);
  return absl::StrCat(file.substr(0, dot), ".", number, file.substr(dot));
}

absl::StatusOr<std::unique_ptr<Trace>> Trace::Open(const std::string& file, int life, World& world,
                                                   std::uint64_t seed,
                                                   fabric::faults::FaultEngine* engine) {
  std::string path = TraceFileOf(file, getpid(), life);
  // A failure is reported now: later there is no caller to report it to.
  std::FILE* opened = std::fopen(path.c_str(), "we");
  if (opened == nullptr) {
    return absl::UnavailableError(absl::StrCat("trace ", path, ": ", std::strerror(errno)));
  }
  std::fclose(opened);
  return std::unique_ptr<Trace>(new Trace(std::move(path), world, seed, engine));
}

Trace::Trace(std::string path, World& world, std::uint64_t seed,
             fabric::faults::FaultEngine* engine)
    : path_(std::move(path)),
      pid_(getpid()),
      recorder_(OptionsFor(seed, world.nics()[0].profile.name)),
      devices_(std::make_unique<WorldTrace>(world, recorder_, engine)),
      node_(recorder_.Node(MachineOf(world))) {}

Trace::~Trace() {
  if (mine()) Write();
}

bool Trace::mine() const { return getpid() == pid_; }

void Trace::Write() {
  if (devices_ == nullptr) return;
  devices_.reset();
  std::ofstream out(path_, std::ios::binary | std::ios::trunc);
  fabric::trace::WriteTrace(recorder_.Take(), out);
  out.close();
  if (!out) std::fprintf(stderr, "drydock-efa: trace %s: writing failed\n", path_.c_str());
}

// ---- Objects ----

std::string Trace::ShortName(const Nic& nic) const {
  const std::size_t slash = nic.name().find('/');
  return slash == std::string::npos ? nic.name() : nic.name().substr(slash + 1);
}

std::uint32_t Trace::Number(const std::string& nic, TrackKind kind) {
  return numbers_[{nic, kind}]++;
}

Trace::Object* Trace::Find(const void* object) {
  const auto found = objects_.find(object);
  return found == objects_.end() ? nullptr : &found->second;
}

void Trace::Tell(std::string_view event, std::string_view kind, const std::string& nic,
                 std::uint32_t id, const JsonMembers& members) {
  JsonMembers all;
  all.Text("event", event).Text("object", kind).Unsigned("id", id).Members(members.str());
  Event told;
  told.time_ns = recorder_.Now();
  told.kind = Kind::kObject;
  told.track = recorder_.TrackOf({node_, TrackKind::kNic, 0, nic});
  told.object = id;
  told.text = recorder_.Text(all.str());
  recorder_.Record(told);
}

std::uint32_t Trace::TellOpen(std::string_view kind, const std::string& nic,
                              const JsonMembers& members) {
  const std::uint32_t id = recorder_.NewObject();
  Tell("open", kind, nic, id, members);
  return id;
}

Trace::Object& Trace::Add(const void* object, std::string_view kind, const Nic& nic,
                          JsonMembers members) {
  Closed(object);
  Object& added = objects_[object];
  added.kind = kind;
  added.nic = ShortName(nic);
  added.nic_index = nic.index();
  added.nic_number = recorder_.NicOf(node_, added.nic);
  added.id = TellOpen(kind, added.nic, members);
  return added;
}

void Trace::OpenedNic(const void* object, const Nic& nic) {
  Add(object, "nic", nic,
      JsonMembers().Text("name", ShortName(nic)).Text("provider", "libibverbs"));
}

void Trace::OpenedRegion(const void* object, const Nic& nic, const Region& region) {
  JsonMembers members;
  members.Text("nic", ShortName(nic)).Unsigned("length", region.length);
  members.Hex("memory", region.address).Hex("address", region.address);
  members.Hex("key", region.remote_key).Raw("access", fabric::trace::JsonList(region.access));
  Object& added = Add(object, "region", nic, members);
  added.region = region;
  recorder_.AddRegion(added.nic_number, {added.id, region.address, region.length}, region.local_key,
                      region.remote_key);
}

void Trace::OpenedQueue(const void* object, const Nic& nic, std::uint32_t depth) {
  Object& added = Add(object, "completion queue", nic,
                      JsonMembers().Text("nic", ShortName(nic)).Unsigned("depth", depth));
  added.track = recorder_.TrackOf({node_, TrackKind::kCompletionQueue,
                                   Number(added.nic, TrackKind::kCompletionQueue), added.nic});
}

void Trace::OpenedEndpoint(const void* object, const Nic& nic, const sim::QueuePair& device,
                           const void* sends, const void* receives) {
  const Object* const send_queue = Find(sends);
  const Object* const receive_queue = Find(receives);
  if (send_queue == nullptr || receive_queue == nullptr) return;
  const std::string name = ShortName(nic);
  const std::uint32_t vector = TellOpen("address vector", name, JsonMembers().Text("nic", name));
  const fabric::Address address = EfaAddress{nic.gid(), device.number, device.qkey}.Encode();
  const bool datagram = device.type == QueuePairType::kUd;
  JsonMembers members;
  members.Text("nic", name).Text("address", address.ToHex());
  members.Text("type", datagram ? "datagram" : "reliable");
  members.Unsigned("send_queue", send_queue->id).Unsigned("receive_queue", receive_queue->id);
  Object& added = Add(object, "endpoint", nic, members.Unsigned("address_vector", vector));
  const std::uint32_t number = Number(name, TrackKind::kSendQueue);
  added.track = recorder_.TrackOf({node_, TrackKind::kSendQueue, number, name});
  added.receives = recorder_.TrackOf({node_, TrackKind::kReceiveQueue, number, name});
  added.vector = vector;
  added.datagram = datagram;
  added.address = address;
  added.work =
      std::make_shared<PostedWork>(PostedWork::Queue{added.track, added.id},
                                   PostedWork::Queue{send_queue->track, send_queue->id},
                                   PostedWork::Queue{receive_queue->track, receive_queue->id});
  recorder_.AddWork(address, added.work);
}

void Trace::NamedPeer(const Nic& nic, std::uint16_t handle, const Gid& gid) {
  handles_[{nic.index(), handle}] = gid;
}

void Trace::Closed(const void* object) {
  const auto found = objects_.find(object);
  if (found == objects_.end()) return;
  const Object& closed = found->second;
  if (closed.work != nullptr) recorder_.RemoveWork(closed.address);
  if (closed.kind == "region") {
    recorder_.RemoveRegion(closed.nic_number, closed.id, closed.region.local_key,
                           closed.region.remote_key);
  }
  Tell("close", closed.kind, closed.nic, closed.id, {});
  if (closed.vector != 0) Tell("close", "address vector", closed.nic, closed.vector, {});
  objects_.erase(found);
}

// ---- Work ----

// The interface has address handles and numbers of queue pairs; a trace has peers.
std::uint64_t Trace::PeerOf(Object& endpoint, const efa::SendWork& work) {
  const Gid& gid = handles_[{endpoint.nic_index, work.address_handle}];
  const auto [found, added] = endpoint.peers.try_emplace(
      {gid, work.destination_queue_pair, work.qkey}, endpoint.peers.size());
  if (!added) return found->second;
  const EfaAddress address{gid, work.destination_queue_pair, work.qkey};
  JsonMembers members;
  members.Unsigned("address_vector", endpoint.vector).Unsigned("peer", found->second);
  TellOpen("peer", endpoint.nic, members.Text("address", address.Encode().ToHex()));
  return found->second;
}

void Trace::AddSegment(const Object& endpoint, std::uint64_t address, std::uint64_t bytes,
                       std::uint32_t key) {
  Event& segment = segments_.emplace_back();
  segment.address = address;
  segment.bytes = bytes;
  segment.kind = Kind::kSegment;
  recorder_.Locate(endpoint.nic_number, key, segment);
}

// The post, and the segments that were added.
std::uint64_t Trace::RecordPost(Object& endpoint, Event post) {
  idle_ = false;
  post.time_ns = recorder_.Now();
  post.op = recorder_.NewOperations(node_);
  post.op_node = node_;
  post.object = endpoint.id;
  post.kind = Kind::kPost;
  post.flags |= fabric::trace::kSignalled;
  for (const Event& segment : segments_) post.bytes += segment.bytes;
  endpoint.work->Posting({.op = post.op,
                          .kind = post.operation,
                          .bytes = post.bytes + (endpoint.datagram ? kDatagramPrefixBytes : 0),
                          .remote_address = post.address});
  segments_.insert(segments_.begin(), post);
  recorder_.Record(segments_);
  segments_.clear();
  return post.op;
}

void Trace::Posted(const void* object, const efa::SendWork& work) {
  Object* const endpoint = Find(object);
  if (endpoint == nullptr) return;
  Event post;
  post.track = endpoint->track;
  post.operation = KindOf(work.operation);
  post.peer = PeerOf(*endpoint, work);
  post.flags = fabric::trace::kHasPeer;
  if (post.operation != OperationKind::kSend) {
    post.address = work.remote.address;
    post.key = work.remote.rkey;
    post.flags |= fabric::trace::kHasRemote;
  }
  if (work.has_immediate) {
    post.immediate = work.immediate;
    post.flags |= fabric::trace::kHasImmediate;
  }
  if (work.is_inline) {
    post.flags |= fabric::trace::kInject;
    AddSegment(*endpoint, 0, work.inline_bytes, 0);
  }
  for (std::size_t i = 0; i < work.segment_count; ++i) {
    AddSegment(*endpoint, work.segments[i].address, work.segments[i].length, work.segments[i].lkey);
  }
  endpoint->pending[{false, work.request_id}] = RecordPost(*endpoint, post);
}

void Trace::Posted(const void* object, const efa::ReceiveWork& work) {
  Object* const endpoint = Find(object);
  if (endpoint == nullptr) return;
  Event post;
  post.track = endpoint->receives;
  post.operation = OperationKind::kReceive;
  for (std::size_t i = 0; i < work.segment_count; ++i) {
    AddSegment(*endpoint, work.segments[i].address, work.segments[i].length, work.segments[i].lkey);
  }
  endpoint->pending[{true, work.request_id}] = RecordPost(*endpoint, post);
}

void Trace::Rang(const void* object, bool receives, std::uint32_t count) {
  Object* const endpoint = Find(object);
  if (endpoint == nullptr) return;
  Event doorbell;
  doorbell.time_ns = recorder_.Now();
  doorbell.bytes = count;
  doorbell.track = receives ? endpoint->receives : endpoint->track;
  doorbell.object = endpoint->id;
  doorbell.kind = Kind::kDoorbell;
  recorder_.Record(doorbell);
}

std::uint64_t Trace::Ended(const void* object, const efa::Completion& entry) {
  Object* const endpoint = Find(object);
  if (endpoint == nullptr || entry.unsolicited) return 0;
  const bool receive = entry.queue == efa::QueueType::kReceive;
  const auto found = endpoint->pending.find({receive, entry.request_id});
  if (found == endpoint->pending.end()) return 0;
  const std::uint64_t op = found->second;
  endpoint->pending.erase(found);
  return op;
}

void Trace::Polled(const void* object, const std::vector<Read>& entries) {
  const Object* const queue = Find(object);
  if (queue == nullptr || entries.empty()) return;
  Event poll;
  poll.time_ns = recorder_.Now();
  poll.bytes = entries.size();
  poll.track = queue->track;
  poll.object = queue->id;
  poll.kind = Kind::kPoll;
  std::vector<Event> events = {poll};
  for (const Read& entry : entries) {
    Event& read = events.emplace_back();
    read.op = entry.op;
    read.op_node = node_;
    read.error = fabric::FromEfaStatus(entry.status);
    read.kind = Kind::kPolled;
  }
  recorder_.Record(events);
}

}  // namespace drydock::sim::verbs
