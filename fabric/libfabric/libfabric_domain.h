// The objects behind the contract's: one open NIC, and what is opened on it.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_DOMAIN_H_
#define DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_DOMAIN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/counter.h"
#include "drydock/fabric/counter_memory.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/error_data.h"
#include "drydock/fabric/libfabric/api.h"
#include "drydock/fabric/libfabric/handle.h"
#include "drydock/fabric/libfabric/provider_events.h"
#include "drydock/fabric/libfabric/provider_selection.h"
#include "drydock/fabric/libfabric/request_slots.h"

namespace drydock::fabric::libfabric {

// The state that every object of one open NIC shares. Members close in reverse order: the domain
// before its fabric.
struct DomainCore {
  DomainCore(Api& library, NicChoice choice) : api(library), nic(std::move(choice)) {}

  Api& api;
  NicChoice nic;
  bool is_efa = false;
  bool shares_memory = false;  // with its peers: shm. A read that finds nothing pauses (SpinPause).
  // Endpoints can be opened whose receives take immediates: whether an immediate of a write took
  // one is then told by its entry, which elsewhere is not to be trusted.
  bool immediates_name_receives = false;
  Handle<fid_fabric> fabric;
  ProviderEvents events;  // of efa; elsewhere it is not open
  Handle<fid_domain> domain;
  std::atomic<std::uint64_t> next_key{1};  // where the program chooses keys
};

// Whether completions can have tags, which entries must then have room for.
inline bool HasTags(const DomainCore& domain) {
  return domain.nic.described.capabilities.Has(Capability::kTaggedMessages);
}

// An open queue, shared by the contract's handle and the endpoints on it; closes with the last.
struct QueueCore {
  QueueCore(std::shared_ptr<DomainCore> owner, Handle<fid_cq> handle, std::size_t entries,
            bool with_sources);

  std::shared_ptr<DomainCore> domain;
  // Slots of endpoints that were closed with requests under way, which the library may have
  // reported by then. An empty queue frees them: it reports nothing more of such an endpoint.
  std::vector<std::unique_ptr<RequestSlots>> orphans;
  Handle<fid_cq> queue;
  ProviderEvents* const events;  // of the domain; null where it has none
  const bool tells_source;
  const bool immediates_name_receives;
  const std::size_t entry_bytes;  // of an fi_cq_tagged_entry, or of an fi_cq_data_entry
  std::size_t depth;
  // The slots of an endpoint that was closed.
  void Adopt(std::unique_ptr<RequestSlots> slots);
};

// The peers of one address vector. A Peer is libfabric's number and a generation, so that a request
// to a peer that was removed is refused: providers would follow a dangling pointer (efa-direct,
// tcp) or lose the message (shm).
struct VectorCore {
  VectorCore(std::shared_ptr<DomainCore> owner, Handle<fid_av> handle);

  static fi_addr_t NumberOf(Peer peer) { return static_cast<std::uint32_t>(peer); }
  // Whether there is such a peer. One look: a place of the table holds the peer that is there, or
  // what belongs to no place.
  bool Has(Peer peer) const {
    return peers[static_cast<std::uint64_t>(peer) & mask] == static_cast<std::uint64_t>(peer);
  }
  // FI_ADDR_UNSPEC when there is no such peer.
  fi_addr_t Find(Peer peer) const { return Has(peer) ? NumberOf(peer) : FI_ADDR_UNSPEC; }
  // kNoPeer when no peer has the number.
  Peer PeerOf(fi_addr_t number) const {
    const auto peer = static_cast<Peer>(peers[number & mask]);
    return NumberOf(peer) == number ? peer : kNoPeer;
  }
  // The address under this number becomes a peer, or that which it was. `address`: as the library
  // was given it.
  Peer Put(fi_addr_t number, const Address& address);
  void Forget(Peer peer);

  std::shared_ptr<DomainCore> domain;
  Handle<fid_av> vector;
  std::uint64_t mask;                // of the places in `peers`
  std::vector<std::uint64_t> peers;  // a power of two, by number
  std::vector<Address> addresses;    // by number
  std::uint32_t last_generation = 0;
};

// An open counter, shared likewise.
struct CounterCore {
  std::shared_ptr<DomainCore> domain;
  Handle<fid_cntr> counter;
};

// A registration. The keys are what the library said when it was opened, so reading them calls
// nothing. Close waits for no operation; the provider ends those that use the region.
class LibfabricMemoryRegion final : public MemoryRegion {
 public:
  LibfabricMemoryRegion(std::shared_ptr<DomainCore> domain, const MemoryRequest& request,
                        Handle<fid_mr> region);
  ~LibfabricMemoryRegion() override { Close().IgnoreError(); }

  std::byte* data() const override { return request_.data; }
  std::size_t length_bytes() const override { return request_.length_bytes; }
  Access access() const override { return request_.access; }
  std::uint64_t local_key() const override { return local_key_; }
  RemoteBuffer remote() const override { return remote_; }
  absl::Status Close() override;

 private:
  std::shared_ptr<DomainCore> domain_;
  MemoryRequest request_;
  Handle<fid_mr> region_;
  std::uint64_t local_key_;  // fi_mr_desc
  RemoteBuffer remote_;
};

// Where the library puts the entries of one call: enough to amortise it. They have room for a tag
// or have not; the members before are the same.
struct RawEntries {
  using Entry = fi_cq_data_entry;
  static constexpr std::size_t kMost = 32;

  // The entry that begins after so many bytes.
  const Entry& At(std::size_t place) const {
    return *reinterpret_cast<const Entry*>(bytes + place);
  }

  alignas(fi_cq_tagged_entry) std::byte bytes[kMost * sizeof(fi_cq_tagged_entry)];
};

// Begins a cache line: each Read writes there, and its neighbour in memory may be another thread's.
class alignas(64) LibfabricCompletionQueue final : public CompletionQueue,
                                                   private BlockingWait,
                                                   private ErrorDetails {
 public:
  // `wait_descriptor`: of a queue opened with FI_WAIT_FD.
  LibfabricCompletionQueue(std::shared_ptr<QueueCore> core, std::optional<int> wait_descriptor);

  ReadResult Read(std::span<Completion> entries) override;
  std::string ErrorText(const Completion& completion) override;
  std::size_t depth() const override { return core_ == nullptr ? 0 : core_->depth; }
  absl::Status Close() override;
  void* QueryPower(const PowerId& power) override;

  const std::shared_ptr<QueueCore>& core() const { return core_; }

 private:
  void Wait(coro::Time deadline) override;
  void ReadErrorData(const Completion& completion, ErrorData& data) override;
  // A Read that is not like most: of a queue that tells sources, or is closed; into nothing, or
  // into more than a batch.
  ReadResult ReadAny(std::span<Completion> entries);
  // `count` entries of any kind from the `first` on. `sources`: of all entries, or null where they
  // are not told. Returns how many completions they make.
  std::size_t Translate(std::size_t first, std::size_t count, const fi_addr_t* sources,
                        Completion* completions) const;
  // Nothing was read: `got` is the library's result.
  ReadResult ReadNothing(ssize_t got, Completion& first);
  // Takes the error entry at the head of the queue.
  ReadResult ReadError(Completion& completion);

  // Fields that every Read uses, side by side here and not spread over the core.
  std::size_t most_at_once_;  // entries; 0: ReadAny knows what to do
  fid_cq* const queue_;
  const std::size_t entry_bytes_;
  const bool immediates_name_receives_;
  const bool shares_memory_;

  std::shared_ptr<QueueCore> core_;
  std::optional<int> wait_descriptor_;
  RawEntries raw_;          // not on the stack, where each Read would make room for it
  std::string last_error_;  // the provider's words for the failure that was read last
  std::string last_data_;   // and its data
  ErrorBuffer error_buffer_;
};

// Peers, checked before the library sees them: providers accept addresses of the wrong length or
// content and fail later. Not thread-safe.
class LibfabricAddressVector final : public AddressVector {
 public:
  explicit LibfabricAddressVector(std::shared_ptr<VectorCore> core) : core_(std::move(core)) {}

  absl::StatusOr<Peer> Insert(const Address& address) override;
  absl::Status Remove(Peer peer) override;
  absl::StatusOr<Address> Lookup(Peer peer) const override;
  absl::Status Close() override;

  const std::shared_ptr<VectorCore>& core() const { return core_; }

 private:
  std::shared_ptr<VectorCore> core_;
};

// Reads and sets the library's counter; after Close, 0 and kClosed.
class LibfabricCounter final : public Counter {
 public:
  explicit LibfabricCounter(std::shared_ptr<CounterCore> core) : core_(std::move(core)) {}

  std::uint64_t Read() override;
  std::uint64_t ReadErrors() override;
  absl::Status Set(std::uint64_t value) override;
  absl::Status Add(std::uint64_t value) override;
  absl::Status Close() override;

  const std::shared_ptr<CounterCore>& core() const { return core_; }

 private:
  std::shared_ptr<CounterCore> core_;
};

// Opens what the contract names, each with the attributes that the provider was found to grant.
// Errors have the call's name and libfabric's words.
class LibfabricDomain final : public Domain, private CountersInMemory {
 public:
  // Opens a NIC that provider_selection.h has found.
  static absl::StatusOr<std::unique_ptr<Domain>> Open(Api& api, const NicChoice& nic);

  LibfabricDomain(std::shared_ptr<DomainCore> core, NicInfo info)
      : core_(std::move(core)), info_(std::move(info)) {}

  const NicInfo& nic() const override { return info_; }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterMemory(
      const MemoryRequest& request) override;
  absl::StatusOr<std::unique_ptr<CompletionQueue>> OpenCompletionQueue(
      const CompletionQueueOptions& options) override;
  absl::StatusOr<std::unique_ptr<AddressVector>> OpenAddressVector() override;
  absl::StatusOr<std::unique_ptr<Counter>> OpenCounter() override;
  absl::StatusOr<std::unique_ptr<Counter>> OpenCounterIn(const CounterMemory& memory) override;
  void* QueryPower(const PowerId& power) override;
  absl::StatusOr<std::unique_ptr<Endpoint>> OpenEndpoint(const EndpointOptions& options) override;
  absl::Status Close() override;

 private:
  std::shared_ptr<DomainCore> core_;
  NicInfo info_;
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_DOMAIN_H_
