// One NIC of any fabric, opened for coroutines on one loop: a machine's end of a conversation.
//
//   ASSIGN_OR_RETURN(auto node, Node::Open(loop, std::move(fabric)));
//   ASSIGN_OR_RETURN(const BufferRef page, node->Allocate(4096));
//   RETURN_IF_ERROR(node->Join(addresses));  // those of all nodes, this one's among them
//   const Completion done = co_await node->endpoint().Write(page, target, node->peer(1));
//
// It is the same for a libfabric provider on an EC2 instance and for a simulated NIC;
// sim/cluster/cluster.h makes several simulated ones that know each other.

#ifndef DRYDOCK_FABRIC_ASYNC_NODE_H_
#define DRYDOCK_FABRIC_ASYNC_NODE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/completion_dispatcher.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/fabric.h"

namespace drydock::fabric::async {

// What it is: domain, address vector, completion dispatcher and endpoint of one NIC.
// Ownership: owns them, and the fabric where it was given one. Dies before the loop, and after
// every coroutine that uses it. Threads: the loop's. Blocking: Open, Allocate, Register and Join
// may enter the kernel.
class Node {
 public:
  // Opens nics()[nic]. The completion queue blocks where the NIC's can, so that a program that
  // waits uses no CPU. Errors: those of fabric::OpenNic.
  static absl::StatusOr<std::unique_ptr<Node>> Open(coro::EventLoop& loop, Fabric& fabric,
                                                    std::size_t nic = 0);
  // The same, and keeps the fabric for as long as the node lives.
  static absl::StatusOr<std::unique_ptr<Node>> Open(coro::EventLoop& loop,
                                                    std::unique_ptr<Fabric> fabric,
                                                    std::size_t nic = 0);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // --- Parts ---
  coro::EventLoop& loop() { return dispatcher_->loop(); }
  const NicInfo& nic() const { return domain_->nic(); }
  Domain& domain() { return *domain_; }
  AddressVector& peers() { return *peers_; }
  CompletionDispatcher& dispatcher() { return *dispatcher_; }
  AsyncEndpoint& endpoint() { return *endpoint_; }
  Address address() const { return endpoint_->address(); }

  // Another endpoint of the same NIC, with the same completion queue and peers. The queue is as
  // deep as one endpoint needs: what all of them have in flight has to fit into it
  // (CompletionQueueOptions::depth). Dies before the node.
  absl::StatusOr<std::unique_ptr<AsyncEndpoint>> OpenEndpoint();

  // --- Memory, registered for every use that the NIC has ---
  // Zero bytes. Errors: those of Domain::RegisterMemory.
  absl::StatusOr<BufferRef> Allocate(std::size_t length_bytes);
  // Registers the caller's memory, which the caller keeps until the buffer is gone.
  absl::StatusOr<BufferRef> Register(std::span<std::byte> memory);

  // --- Peers that come and go ---
  // Errors: those of AddressVector::Insert. An address that is connected twice is one peer, which
  // goes with the last Disconnect; one of the group stays. REQUIRES, of Disconnect: the peer is
  // connected.
  absl::StatusOr<Peer> Connect(const Address& address);
  void Disconnect(Peer peer);

  // --- Peers by number ---
  // Enters a group of nodes: peer(i) is group[i] from then on. The node's own address, which the
  // group may hold, gets no peer. Errors: those of AddressVector::Insert; the node is in no group
  // then. REQUIRES: it is in no group yet.
  absl::Status Join(std::span<const Address> group);
  // kNoPeer: this node itself. REQUIRES: index < size of the group.
  Peer peer(std::size_t index) const;

 private:
  Node() = default;

  std::unique_ptr<Fabric> fabric_;  // null: the caller owns it
  std::unique_ptr<Domain> domain_;
  std::unique_ptr<AddressVector> peers_;
  std::unique_ptr<CompletionDispatcher> dispatcher_;
  std::unique_ptr<AsyncEndpoint> endpoint_;
  std::map<Peer, std::size_t> connected_;  // how often
  std::vector<Peer> group_;
};

// Joins nodes of one process to one group, in this order.
absl::Status Introduce(std::span<const std::unique_ptr<Node>> nodes);

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_NODE_H_
