#include "drydock/sim/capture/machine.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/capture/bytes_digest.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/sim/capture/memory.h"
#include "drydock/sim/random.h"

namespace drydock::sim::capture {
namespace {

using fabric::ErrorCode;
using fabric::LocalBuffer;
using fabric::OperationKind;

// Where a post names memory that was never registered, or a peer in no address vector.
constexpr fabric::Peer kNobody = fabric::kNoPeer;

// What a capture needs, and the machine that is simulated has not.
template <typename Thing>
absl::StatusOr<Thing> OnThisMachine(absl::StatusOr<Thing> opened) {
  if (opened.status().code() != absl::StatusCode::kResourceExhausted) return opened;
  return absl::InvalidArgumentError(absl::StrCat(
      "the capture needs more than the machine that is simulated has: ", opened.status().message(),
      ": take another --profile"));
}

// Memory that is the same already is left alone: it may be in use by another operation.
void Put(std::byte* to, const char* from, std::uint64_t length) {
  if (length > 0 && std::memcmp(to, from, length) != 0) std::memcpy(to, from, length);
}

}  // namespace

void FillFor(std::uint64_t operation, std::byte* bytes, std::uint64_t length) {
  for (std::uint64_t at = 0; at < length; at += 8) {
    const std::uint64_t word = Combine(Mix(operation), at);
    std::memcpy(bytes + at, &word, std::min<std::uint64_t>(8, length - at));
  }
}

Machine::Machine(const Node& node)
    : node_(node),
      memory_(node.regions.size()),
      regions_(node.regions.size()),
      region_open_(node.regions.size()),
      stretch_of_(node.regions.size(), kNowhere),
      endpoints_(node.endpoints.size()),
      endpoint_numbers_(node.endpoints.size()),
      addresses_(node.endpoints.size()),
      peers_(node.peers.size()),
      digests_(node.regions.size()),
      outcomes_(node.operations.size()),
      unsolicited_(node.queues.size()) {
  FindStretches();
}

absl::StatusOr<std::unique_ptr<Machine>> Machine::Open(const Node& node,
                                                       std::unique_ptr<fabric::Fabric> fabric) {
  std::unique_ptr<Machine> machine(new Machine(node));
  machine->fabric_ = std::move(fabric);
  const std::size_t nics = machine->fabric_->nics().size();
  if (node.nics.size() > nics) {
    return absl::InvalidArgumentError(absl::StrCat(node.name, " used ", node.nics.size(),
                                                   " NICs, and the machine that is simulated has ",
                                                   nics, ": take another --profile"));
  }
  RETURN_IF_ERROR(machine->OpenQueues());
  return machine;
}

absl::Status Machine::OpenQueues() {
  for (std::size_t nic = 0; nic < node_.nics.size(); ++nic) {
    ASSIGN_OR_RETURN(domains_.emplace_back(), fabric_->OpenDomain(nic));
  }
  for (const Queue& queue : node_.queues) {
    // The recorded depth may be more than a NIC has; what is read at once needs no depth.
    ASSIGN_OR_RETURN(queues_.emplace_back(),
                     OnThisMachine(domains_[queue.nic]->OpenCompletionQueue({})));
  }
  for (const Vector& vector : node_.vectors) {
    ASSIGN_OR_RETURN(vectors_.emplace_back(),
                     OnThisMachine(domains_[vector.nic]->OpenAddressVector()));
  }
  return absl::OkStatus();
}

// ---- Objects ----

void Machine::FindStretches() {
  std::vector<Index> order;
  for (Index i = 0; i < node_.regions.size(); ++i) {
    if (node_.regions[i].memory != 0) order.push_back(i);
  }
  std::ranges::sort(order, {}, [this](Index i) { return node_.regions[i].memory; });
  for (const Index index : order) {
    const Region& region = node_.regions[index];
    if (stretches_.empty() || region.memory >= stretches_.back().end) {
      stretches_.push_back({.begin = region.memory, .end = region.memory});
    }
    Stretch& stretch = stretches_.back();
    stretch.end = std::max(stretch.end, region.memory + region.length);
    stretch_of_[index] = stretches_.size() - 1;
  }
}

// A buffer may be registered several times, with several NICs for one, and in parts: its bytes are
// the same. When all of its regions are closed, the next one may be another buffer.
absl::StatusOr<std::shared_ptr<std::byte>> Machine::MemoryOf(Index index) {
  const Region& region = node_.regions[index];
  if (stretch_of_[index] == kNowhere) return AllocatePages(region.length);
  Stretch& stretch = stretches_[stretch_of_[index]];
  const std::uint64_t length = stretch.end - stretch.begin;
  if (stretch.bytes == nullptr) {
    ASSIGN_OR_RETURN(stretch.bytes, AllocatePages(length));
  } else if (stretch.open == 0) {
    ClearPages(stretch.bytes.get(), length);
  }
  ++stretch.open;
  std::byte* const first = stretch.bytes.get() + (region.memory - stretch.begin);
  return std::shared_ptr<std::byte>(stretch.bytes, first);
}

absl::Status Machine::OpenRegion(Index index) {
  const Region& region = node_.regions[index];
  ASSIGN_OR_RETURN(memory_[index], MemoryOf(index));
  if (region.began.has_value()) Put(memory_[index].get(), region.began->data(), region.length);
  ASSIGN_OR_RETURN(
      regions_[index],
      OnThisMachine(domains_[region.nic]->RegisterMemory(
          {.data = memory_[index].get(), .length_bytes = region.length, .access = region.access})));
  region_open_[index] = true;
  return absl::OkStatus();
}

void Machine::CloseRegion(Index index) {
  if (!region_open_[index]) return;
  digests_[index] =
      fabric::capture::DigestOf(std::span(memory_[index].get(), node_.regions[index].length));
  regions_[index]->Close().IgnoreError();
  region_open_[index] = false;
  if (stretch_of_[index] != kNowhere) --stretches_[stretch_of_[index]].open;
}

absl::Status Machine::OpenEndpoint(Index index) {
  const Endpoint& endpoint = node_.endpoints[index];
  fabric::EndpointOptions options;
  options.send_queue = queues_[endpoint.send_queue].get();
  options.receive_queue = queues_[endpoint.receive_queue].get();
  options.address_vector = vectors_[endpoint.vector].get();
  ASSIGN_OR_RETURN(endpoints_[index], OnThisMachine(domains_[endpoint.nic]->OpenEndpoint(options)));
  endpoint_numbers_[index] = opened_endpoints_++;
  addresses_[index] = endpoints_[index]->address();
  return absl::OkStatus();
}

void Machine::CloseEndpoint(Index index) {
  if (endpoints_[index] != nullptr) endpoints_[index]->Close().IgnoreError();
}

absl::Status Machine::InsertPeer(Index index, const fabric::Address& address) {
  ASSIGN_OR_RETURN(peers_[index], vectors_[node_.peers[index].vector]->Insert(address));
  return absl::OkStatus();
}

void Machine::RemovePeer(Index index) {
  if (!peers_[index].has_value()) return;
  vectors_[node_.peers[index].vector]->Remove(*peers_[index]).IgnoreError();
}

std::optional<std::uint32_t> Machine::endpoint_number(Index endpoint) const {
  return endpoint_numbers_[endpoint];
}

std::optional<fabric::Address> Machine::address(Index endpoint) const {
  return addresses_[endpoint];
}

std::optional<fabric::RemoteBuffer> Machine::remote(Index region) const {
  if (regions_[region] == nullptr) return std::nullopt;
  return regions_[region]->remote();
}

// ---- Operations ----

absl::StatusOr<std::vector<LocalBuffer>> Machine::BuffersOf(const Operation& operation) {
  std::vector<LocalBuffer> buffers;
  const auto index = static_cast<Index>(&operation - node_.operations.data());
  for (Index i = 0; i < operation.segments.size(); ++i) {
    const Segment& segment = operation.segments[i];
    if (segment.region != kNowhere && regions_[segment.region] != nullptr) {
      buffers.push_back(regions_[segment.region]->Local(segment.offset, segment.length));
      continue;
    }
    // It was not registered, as injected data need not be. Here it is: that does no harm.
    std::unique_ptr<fabric::MemoryRegion>& loose = loose_regions_[{index, i}];
    if (loose == nullptr) {
      const std::uint64_t length = std::max<std::uint64_t>(segment.length, 1);
      std::shared_ptr<std::byte>& memory = loose_memory_[{index, i}];
      ASSIGN_OR_RETURN(memory, AllocatePages(length));
      const Index nic = node_.endpoints[operation.endpoint].nic;
      ASSIGN_OR_RETURN(
          loose, domains_[nic]->RegisterMemory({.data = memory.get(), .length_bytes = length}));
    }
    buffers.push_back(loose->Local(0, segment.length));
  }
  if (buffers.empty()) buffers.emplace_back();
  return buffers;
}

ErrorCode Machine::Post(Index index, const fabric::RemoteBuffer& remote) {
  const Operation& operation = node_.operations[index];
  fabric::Endpoint* endpoint = endpoints_[operation.endpoint].get();
  const auto buffers = BuffersOf(operation);
  if (!buffers.ok() || endpoint == nullptr) return outcomes_[index].posted = ErrorCode::kNoMemory;
  if (IsMessage(operation.kind) || operation.kind == OperationKind::kWrite) {
    std::string filled;
    if (!operation.data.has_value()) {
      filled.resize(operation.bytes);
      FillFor(operation.number, reinterpret_cast<std::byte*>(filled.data()), filled.size());
    }
    const char* from = operation.data.has_value() ? operation.data->data() : filled.data();
    for (const LocalBuffer& buffer : *buffers) {
      Put(buffer.data, from, buffer.length_bytes);
      from += buffer.length_bytes;
    }
  }
  const ErrorCode posted = PostTo(*endpoint, operation, index, *buffers, remote);
  outcomes_[index].posted = posted;
  if (posted == ErrorCode::kOk) {
    outcomes_[index].number = ++accepted_[{operation.endpoint, operation.kind}];
  }
  return posted;
}

namespace {

ErrorCode PostTagged(fabric::Endpoint& endpoint, const Operation& operation,
                     const LocalBuffer& buffer, fabric::Peer peer,
                     std::optional<fabric::Context> context) {
  auto* const tagged = endpoint.power<fabric::TaggedMessages>();
  if (tagged == nullptr) return ErrorCode::kUnsupported;
  if (operation.kind == OperationKind::kTaggedReceive) {
    fabric::TaggedRecvRequest receive{.buffer = buffer};
    receive.tag = operation.tag;
    receive.ignore = operation.ignore;
    receive.context = context;
    return tagged->RecvTagged(receive);
  }
  fabric::TaggedSendRequest send{.buffer = buffer, .peer = peer, .tag = operation.tag};
  send.immediate = operation.immediate;
  send.context = context;
  send.inject = operation.inject && operation.bytes <= endpoint.limits().inject_bytes;
  return tagged->SendTagged(send);
}

}  // namespace

ErrorCode Machine::PostTo(fabric::Endpoint& endpoint, const Operation& operation, Index index,
                          const std::vector<LocalBuffer>& buffers,
                          const fabric::RemoteBuffer& remote) {
  const fabric::MoreSegments more = std::span(buffers).subspan(1);
  fabric::Peer peer = kNobody;
  if (operation.peer != kNowhere) peer = peers_[operation.peer].value_or(kNobody);
  std::optional<fabric::Context> context;
  if (operation.signalled) context = static_cast<fabric::Context>(index);
  if (IsTagged(operation.kind)) return PostTagged(endpoint, operation, buffers[0], peer, context);
  switch (operation.kind) {
    case OperationKind::kSend: {
      // An injected message may be longer than what this NIC injects: to the receiver it is one.
      const bool inject =
          operation.inject && operation.bytes <= endpoint.limits().inject_bytes && more.empty();
      fabric::SendRequest send{.buffer = buffers[0], .peer = peer};
      send.immediate = operation.immediate;
      send.context = context;
      send.more = more;
      send.inject = inject;
      return endpoint.Send(send);
    }
    case OperationKind::kReceive: {
      fabric::RecvRequest receive{.buffer = buffers[0]};
      receive.context = context;
      receive.more = more;
      return endpoint.Recv(receive);
    }
    case OperationKind::kWrite: {
      fabric::WriteRequest write{.source = buffers[0], .target = remote, .peer = peer};
      write.immediate = operation.immediate;
      write.context = context;
      return endpoint.Write(write);
    }
    default: {
      fabric::ReadRequest read{.target = buffers[0], .source = remote, .peer = peer};
      read.context = context;
      return endpoint.Read(read);
    }
  }
}

// ---- Completions ----

void Machine::Poll(coro::Duration now) {
  fabric::Completion entries[16];
  for (Index queue = 0; queue < queues_.size(); ++queue) {
    for (;;) {
      const fabric::ReadResult result = queues_[queue]->Read(entries);
      for (const fabric::Completion& entry : std::span(entries).first(result.count)) {
        Note(queue, entry, now);
      }
      if (result.count == 0) break;
    }
  }
}

void Machine::Note(Index queue, const fabric::Completion& completion, coro::Duration now) {
  ReadBack read{.queue = queue, .kind = completion.kind, .status = completion.error, .time = now};
  if (completion.context.has_value()) {
    read.operation = static_cast<Index>(*completion.context);
    outcomes_[read.operation].status = completion.error;
  } else {
    ++unsolicited_[queue];
  }
  if (completion.ok()) read.arrival = ++arrived_[completion.kind];
  read_back_.push_back(read);
}

}  // namespace drydock::sim::capture
