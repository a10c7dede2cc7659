// Wrappers that forward everything, so that a decorator (faults, traces, counts) overrides two
// functions and not twenty. Each owns what it wraps, and destroys it with itself.

#ifndef DRYDOCK_FABRIC_FORWARDING_H_
#define DRYDOCK_FABRIC_FORWARDING_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"

namespace drydock::fabric {

// Each forwards every function of its interface, powers included, with the contract of what it
// wraps: ownership, threads, blocking and errors are the wrapped object's. Unwrap is forwarded too,
// so that a backend finds its own object below any number of decorators.
class ForwardingCompletionQueue : public CompletionQueue {
 public:
  explicit ForwardingCompletionQueue(std::unique_ptr<CompletionQueue> wrapped)
      : wrapped_(std::move(wrapped)) {}

  ReadResult Read(std::span<Completion> entries) override { return wrapped_->Read(entries); }
  std::string ErrorText(const Completion& completion) override {
    return wrapped_->ErrorText(completion);
  }
  std::size_t depth() const override { return wrapped_->depth(); }
  absl::Status Close() override { return wrapped_->Close(); }
  CompletionQueue& Unwrap() override { return wrapped_->Unwrap(); }
  void* QueryPower(const PowerId& power) override { return wrapped_->QueryPower(power); }

 protected:
  CompletionQueue& wrapped() { return *wrapped_; }

 private:
  std::unique_ptr<CompletionQueue> wrapped_;
};

class ForwardingAddressVector : public AddressVector {
 public:
  explicit ForwardingAddressVector(std::unique_ptr<AddressVector> wrapped)
      : wrapped_(std::move(wrapped)) {}

  absl::StatusOr<Peer> Insert(const Address& address) override { return wrapped_->Insert(address); }
  absl::Status Remove(Peer peer) override { return wrapped_->Remove(peer); }
  absl::StatusOr<Address> Lookup(Peer peer) const override { return wrapped_->Lookup(peer); }
  absl::Status Close() override { return wrapped_->Close(); }
  AddressVector& Unwrap() override { return wrapped_->Unwrap(); }
  void* QueryPower(const PowerId& power) override { return wrapped_->QueryPower(power); }

 protected:
  AddressVector& wrapped() { return *wrapped_; }

 private:
  std::unique_ptr<AddressVector> wrapped_;
};

// An endpoint that posts to the wrapped one. A decorator that overrides one of the four posts gets
// the forms that take a single request as well, because they call the form that takes many.
class ForwardingEndpoint : public Endpoint {
 public:
  explicit ForwardingEndpoint(std::unique_ptr<Endpoint> wrapped) : wrapped_(std::move(wrapped)) {}

  // The forms that take one request stay visible beside the overrides.
  using Endpoint::Read;
  using Endpoint::Recv;
  using Endpoint::Send;
  using Endpoint::Write;

  PostResult Send(std::span<const SendRequest> requests) override {
    return wrapped_->Send(requests);
  }
  PostResult Recv(std::span<const RecvRequest> requests) override {
    return wrapped_->Recv(requests);
  }
  PostResult Write(std::span<const WriteRequest> requests) override {
    return wrapped_->Write(requests);
  }
  PostResult Read(std::span<const ReadRequest> requests) override {
    return wrapped_->Read(requests);
  }
  const Limits& limits() const override { return wrapped_->limits(); }
  Address address() const override { return wrapped_->address(); }
  absl::Status Close() override { return wrapped_->Close(); }
  void* QueryPower(const PowerId& power) override { return wrapped_->QueryPower(power); }

 protected:
  Endpoint& wrapped() { return *wrapped_; }

 private:
  std::unique_ptr<Endpoint> wrapped_;
};

// A domain whose factories return the wrapped domain's objects. A decorator overrides the factory
// of what it decorates and wraps the result; OpenEndpoint works with decorated queues and vectors,
// because backends unwrap them.
class ForwardingDomain : public Domain {
 public:
  explicit ForwardingDomain(std::unique_ptr<Domain> wrapped) : wrapped_(std::move(wrapped)) {}

  const NicInfo& nic() const override { return wrapped_->nic(); }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterMemory(
      const MemoryRequest& request) override {
    return wrapped_->RegisterMemory(request);
  }
  absl::StatusOr<std::unique_ptr<CompletionQueue>> OpenCompletionQueue(
      const CompletionQueueOptions& options) override {
    return wrapped_->OpenCompletionQueue(options);
  }
  absl::StatusOr<std::unique_ptr<AddressVector>> OpenAddressVector() override {
    return wrapped_->OpenAddressVector();
  }
  absl::StatusOr<std::unique_ptr<Counter>> OpenCounter() override {
    return wrapped_->OpenCounter();
  }
  absl::StatusOr<std::unique_ptr<Endpoint>> OpenEndpoint(const EndpointOptions& options) override {
    return wrapped_->OpenEndpoint(options);
  }
  absl::Status Close() override { return wrapped_->Close(); }
  void* QueryPower(const PowerId& power) override { return wrapped_->QueryPower(power); }

 protected:
  Domain& wrapped() { return *wrapped_; }

 private:
  std::unique_ptr<Domain> wrapped_;
};

// A fabric whose domains are the wrapped fabric's.
class ForwardingFabric : public Fabric {
 public:
  explicit ForwardingFabric(std::unique_ptr<Fabric> wrapped) : wrapped_(std::move(wrapped)) {}

  std::string_view description() const override { return wrapped_->description(); }
  std::span<const NicInfo> nics() const override { return wrapped_->nics(); }
  absl::StatusOr<std::unique_ptr<Domain>> OpenDomain(std::size_t nic) override {
    return wrapped_->OpenDomain(nic);
  }
  void* QueryPower(const PowerId& power) override { return wrapped_->QueryPower(power); }

 protected:
  Fabric& wrapped() { return *wrapped_; }

 private:
  std::unique_ptr<Fabric> wrapped_;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_FORWARDING_H_
