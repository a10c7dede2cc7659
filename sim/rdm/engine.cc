#include "sim/rdm/engine.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/rdm/device_context.h"

namespace sim::rdm {
namespace {

using fabric::Access;
using fabric::Capability;
using fabric::ErrorCode;

// Completions taken from the device at once (FI_EFA_EFA_CQ_READ_SIZE).
constexpr std::size_t kReadBatch = 50;

std::uint64_t FeaturesOf(const fabric::NicInfo& nic) {
  const auto feature = [&](Capability capability, std::uint64_t bit) {
    return nic.capabilities.Has(capability) ? bit : 0;
  };
  return feature(Capability::kRemoteRead, kFeatureDeviceRead) |
         feature(Capability::kRemoteWrite, kFeatureDeviceWrite) |
         feature(Capability::kUnsolicitedImmediate, kFeatureUnsolicitedWrite) |
         feature(Capability::kSourceAddress, kFeatureNamesSource);
}

std::size_t OrElse(std::size_t wanted, std::size_t otherwise) {
  return wanted != 0 ? std::min(wanted, otherwise) : otherwise;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  const fabric::NicInfo& nic = options.device.nic();
  const fabric::Limits& limits = nic.limits;
  const std::size_t depth = std::max({options.queue_depth, limits.completion_queue_depth,
                                      limits.send_queue_depth + limits.receive_queue_depth});
  auto queue = options.device.OpenCompletionQueue({.depth = depth});
  if (!queue.ok()) return queue.status();
  fabric::EndpointOptions endpoint_options{.send_queue = queue->get(),
                                           .receive_queue = queue->get(),
                                           .address_vector = &options.book->device()};
  if (nic.capabilities.Has(Capability::kReceiverNotReadyRetry)) {
    endpoint_options.receiver_not_ready_retries = options.settings.receiver_not_ready_retries;
  }
  auto endpoint = options.device.OpenEndpoint(endpoint_options);
  if (!endpoint.ok()) return endpoint.status();
  const auto packet_bytes = static_cast<std::size_t>(limits.max_message_bytes);
  auto send_pool = PacketPool::Open(options.device,
                                    OrElse(options.settings.send_packets, limits.send_queue_depth),
                                    packet_bytes, Access::kSend | Access::kWrite);
  if (!send_pool.ok()) return send_pool.status();
  auto receive_pool = PacketPool::Open(
      options.device, OrElse(options.settings.receive_packets, limits.receive_queue_depth),
      packet_bytes, Access::kReceive);
  if (!receive_pool.ok()) return receive_pool.status();
  Parts parts{*std::move(queue), *std::move(endpoint), *std::move(send_pool),
              *std::move(receive_pool)};
  return std::unique_ptr<Engine>(new Engine(options, std::move(parts)));
}

Engine::Engine(const EngineOptions& options, Parts parts)
    : sends_(options.sends),
      receive_sink_(options.receives),
      memory_(options.memory),
      owner_(options.owner),
      seen_removals_(options.memory.removals()),
      device_queue_(std::move(parts.queue)),
      peers_(options.book, options.settings, parts.endpoint->address()),
      device_(std::move(parts.endpoint)),
      packets_(std::move(parts.send_pool), *device_, options.alarm, statistics_),
      receiver_(std::move(parts.receive_pool), *device_, options.settings.refill),
      reporter_(options.owner, sends_, receive_sink_, options.alarm,
                options.limits.send_queue_depth),
      services_{.settings = options.settings,
                .payload_bytes = options.device.nic().limits.max_message_bytes - kMaxHeaderBytes,
                .max_rma_bytes = options.device.nic().limits.max_rma_bytes,
                .features = FeaturesOf(options.device.nic()),
                .memory = options.memory,
                .device = *device_,
                .packets = packets_,
                .reporter = reporter_,
                .statistics = statistics_},
      receives_(options.limits.receive_queue_depth, options.limits.multi_receive_bytes),
      target_(services_, operations_, receives_),
      initiator_(services_, operations_, peers_, options.limits.inject_bytes) {
  sends_.AddSource(*this);
  receive_sink_.AddSource(*this);
}

Engine::~Engine() {
  device_->Close().IgnoreError();
  for (CompletionSink* sink : {&sends_, &receive_sink_}) {
    sink->RemoveSource(*this);
    sink->Drop(owner_);
  }
}

// ---- What the device reports ----

ErrorCode Engine::MakeProgress() {
  const ErrorCode error = PollDevice();
  while (const std::optional<SentPacket> refused = packets_.TakeRefused()) OnSent(*refused);
  if (std::exchange(seen_removals_, memory_.removals()) != memory_.removals()) {
    operations_.ForEach([](Operation& operation) { operation.OnMemoryRemoved(); });
  }
  packets_.Tick();
  initiator_.AskAgain();
  operations_.RunBlocked();
  receiver_.Refill();
  packets_.Flush();
  return error;
}

ErrorCode Engine::PollDevice() {
  std::array<fabric::Completion, kReadBatch> entries;
  ErrorCode error = ErrorCode::kOk;
  fabric::ReadResult result;
  do {
    result = device_queue_->Read(entries);
    if (result.error != ErrorCode::kOk) error = result.error;
    for (std::size_t i = 0; i < result.count; ++i) OnCompletion(entries[i]);
  } while (result.count == entries.size());
  return error;
}

void Engine::OnCompletion(const fabric::Completion& completion) {
  if (completion.kind == fabric::OperationKind::kRemoteWrite) OnRemoteWrite(completion);
  if (!completion.context.has_value()) return;
  const std::uint64_t number = NumberOf(*completion.context);
  switch (RequestOf(*completion.context)) {
    case DeviceRequest::kPacketSend: {
      const auto sent = packets_.OnCompletion(static_cast<std::uint32_t>(number), completion);
      if (sent.has_value()) OnSent(*sent);
      break;
    }
    case DeviceRequest::kPacketReceive:
      OnReceived(static_cast<std::uint32_t>(number), completion);
      break;
    case DeviceRequest::kTransfer:
      OnTransferred(number, completion);
      break;
  }
}

// A receive of ours that such a write has taken comes back like any other.
void Engine::OnRemoteWrite(const fabric::Completion& completion) {
  fabric::Completion told = completion;
  const auto from = peers_.book().FindDevicePeer(completion.source);
  told.context.reset();
  told.source = from == nullptr ? fabric::kNoPeer : from->handle();
  reporter_.RemotelyWritten(told);
}

void Engine::OnReceived(std::uint32_t index, const fabric::Completion& completion) {
  if (completion.ok() && completion.kind == fabric::OperationKind::kReceive) {
    OnPacket(receiver_.bytes(index, completion.length_bytes), completion.source);
  }
  receiver_.GiveBack(index);
  receiver_.Refill();
}

void Engine::OnSent(const SentPacket& sent) {
  if (Operation* owner = operations_.Find(sent.owner)) {
    owner->OnPacketSent(sent.outcome);
    operations_.Run(*owner);
  }
  const bool gone = MeansPeerIsGone(sent.outcome.error) ||
                    (sent.owner == kHandshakeTrigger && !sent.outcome.ok());
  if (gone) OnPeerGone(*sent.peer, sent.outcome);
}

void Engine::OnTransferred(OperationId id, const fabric::Completion& completion) {
  Operation* operation = operations_.Find(id);
  if (operation == nullptr) return;
  Peer& peer = operation->peer();
  const Outcome outcome =
      FromDevice(completion.error, completion.provider_error, peer.handshake_received);
  operation->OnTransferred(outcome);
  operations_.Run(*operation);
  if (MeansPeerIsGone(outcome.error)) OnPeerGone(peer, outcome);
}

void Engine::OnPeerGone(Peer& peer, const Outcome& outcome) {
  initiator_.OnPeerGone(peer, outcome);
  operations_.ForEach([&](Operation& operation) {
    if (&operation.peer() == &peer) operation.OnPeerGone(outcome);
  });
}

// ---- What peers say ----

void Engine::OnPacket(std::span<const std::byte> bytes, fabric::Peer device_source) {
  const std::optional<Packet> packet = Decode(bytes);
  if (!packet.has_value()) {
    ++statistics_.malformed;
    return;
  }
  Peer* peer = Identify(packet->header, device_source);
  if (peer == nullptr) return;
  ShakeHands(*peer);
  if (packet->header.kind == PacketKind::kHandshake) {
    OnHandshake(*peer, packet->header);
  } else if (IsAnswer(packet->header.kind)) {
    OnAnswer(*peer, *packet);
  } else {
    target_.OnRequest(*peer, *packet, bytes);
  }
}

Peer* Engine::Identify(const PacketHeader& header, fabric::Peer device_source) {
  AddressBook& book = peers_.book();
  const auto named = book.FindDevicePeer(device_source);
  if (named != nullptr) {
    // The device knows the queue pair; the connid says which endpoint of those that had it.
    if (auto known = book.FindConnid(*named, header.connid)) return &peers_.Of(std::move(known));
    if (!header.source.has_value() || !SameQueuePair(*header.source, named->address)) {
      ++statistics_.wrong_connid;
      return nullptr;
    }
  }
  if (!header.source.has_value()) {
    ++statistics_.unknown_sender;
    return nullptr;
  }
  if (ConnidOf(*header.source) != header.connid) {
    ++statistics_.wrong_connid;
    return nullptr;
  }
  // Where the device names senders that we know, one that it does not name is none of them.
  const bool impostor = named == nullptr && (services_.features & kFeatureNamesSource) != 0 &&
                        book.FindAddress(*header.source) != nullptr;
  auto entry = impostor ? absl::NotFoundError("") : book.Use(*header.source);
  if (!entry.ok()) {
    ++statistics_.unknown_sender;
    return nullptr;
  }
  return &peers_.Of(*std::move(entry));
}

void Engine::ShakeHands(Peer& peer) {
  if (peer.handshake_sent) return;
  peer.handshake_sent = true;
  packets_.SendAnswer(peer, {.kind = PacketKind::kHandshake, .tag = services_.features});
}

void Engine::OnHandshake(Peer& peer, const PacketHeader& header) {
  if (peer.handshake_received) {
    ++statistics_.duplicates;
    return;
  }
  peer.handshake_received = true;
  peer.features = header.tag;
  initiator_.OnHandshake(peer);
}

void Engine::OnAnswer(Peer& peer, const Packet& packet) {
  const PacketHeader& header = packet.header;
  Operation* operation = operations_.Find(header.operation, peer);
  if (operation != nullptr && operation->OnPacket(packet)) {
    operations_.Run(*operation);
    return;
  }
  ++statistics_.strays;
  // Whoever asks us to send what we gave up must not wait for ever.
  const bool asks = header.kind == PacketKind::kCts || header.kind == PacketKind::kReadNack;
  if (operation == nullptr && asks && header.reply != kNoOperation) {
    packets_.SendAnswer(
        peer,
        {.kind = PacketKind::kPeerError, .operation = header.reply, .tag = kErrorPeerAborted});
  }
}

}  // namespace sim::rdm
