#include "drydock/fabric/async/node.h"

#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/opened_nic.h"

namespace drydock::fabric::async {
namespace {

// A NIC registers nothing for a use that it lacks: efa-direct has no reads and writes on p4d.
Access UsesOf(const NicInfo& nic) {
  Access uses = Access::kSend | Access::kReceive;
  if (nic.capabilities.Has(Capability::kRemoteWrite)) {
    uses = uses | Access::kWrite | Access::kRemoteWrite;
  }
  if (nic.capabilities.Has(Capability::kRemoteRead)) {
    uses = uses | Access::kRead | Access::kRemoteRead;
  }
  return uses;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Node>> Node::Open(coro::EventLoop& loop, Fabric& fabric,
                                                 std::size_t nic) {
  ASSIGN_OR_RETURN(OpenedNic opened, OpenNic(fabric, {.nic = nic, .may_block = true}));
  std::unique_ptr<Node> node(new Node());
  node->domain_ = std::move(opened.domain);
  node->peers_ = std::move(opened.peers);
  node->dispatcher_ = std::make_unique<CompletionDispatcher>(loop, std::move(opened.queue));
  node->endpoint_ = std::make_unique<AsyncEndpoint>(*node->dispatcher_, std::move(opened.endpoint));
  return node;
}

absl::StatusOr<std::unique_ptr<Node>> Node::Open(coro::EventLoop& loop,
                                                 std::unique_ptr<Fabric> fabric, std::size_t nic) {
  ASSIGN_OR_RETURN(std::unique_ptr<Node> node, Open(loop, *fabric, nic));
  node->fabric_ = std::move(fabric);
  return node;
}

absl::StatusOr<std::unique_ptr<AsyncEndpoint>> Node::OpenEndpoint() {
  EndpointOptions options;
  options.send_queue = options.receive_queue = &dispatcher_->queue();
  options.address_vector = peers_.get();
  ASSIGN_OR_RETURN(auto endpoint, domain_->OpenEndpoint(options));
  return std::make_unique<AsyncEndpoint>(*dispatcher_, std::move(endpoint));
}

absl::StatusOr<BufferRef> Node::Allocate(std::size_t length_bytes) {
  return AllocateBuffer(*domain_, length_bytes, UsesOf(nic()));
}

absl::StatusOr<BufferRef> Node::Register(std::span<std::byte> memory) {
  ASSIGN_OR_RETURN(auto region, domain_->RegisterMemory({.data = memory.data(),
                                                         .length_bytes = memory.size(),
                                                         .access = UsesOf(nic())}));
  return BufferRef(std::make_unique<RegisteredBuffer>(nullptr, std::move(region)));
}

absl::StatusOr<Peer> Node::Connect(const Address& address) {
  ASSIGN_OR_RETURN(const Peer peer, peers_->Insert(address));
  ++connected_[peer];
  return peer;
}

void Node::Disconnect(Peer peer) {
  const auto found = connected_.find(peer);
  DD_CHECK(found != connected_.end(), "a peer is disconnected as often as it was connected");
  if (--found->second > 0) return;
  connected_.erase(found);
  peers_->Remove(peer)
      .IgnoreError();  // a fault plan may refuse: the peer stays, and costs a handle
}

absl::Status Node::Join(std::span<const Address> group) {
  DD_CHECK(group_.empty(), "a node joins one group");
  std::vector<Peer> peers(group.size(), kNoPeer);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i] == address()) continue;
    const absl::StatusOr<Peer> peer = Connect(group[i]);
    if (!peer.ok()) {
      for (const Peer joined : peers) {
        if (joined != kNoPeer) Disconnect(joined);
      }
      return peer.status();
    }
    peers[i] = *peer;
  }
  group_ = std::move(peers);
  return absl::OkStatus();
}

Peer Node::peer(std::size_t index) const {
  DD_CHECK(index < group_.size(), "there is no such node in the group");
  return group_[index];
}

absl::Status Introduce(std::span<const std::unique_ptr<Node>> nodes) {
  std::vector<Address> group;
  group.reserve(nodes.size());
  for (const auto& node : nodes) group.push_back(node->address());
  for (const auto& node : nodes) RETURN_IF_ERROR(node->Join(group));
  return absl::OkStatus();
}

}  // namespace drydock::fabric::async
