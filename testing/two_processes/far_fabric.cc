#include "drydock/testing/two_processes/far_fabric.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "drydock/fabric/atomics.h"
#include "drydock/fabric/cancel.h"
#include "drydock/fabric/error_data.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/testing/two_processes/carried_requests.h"
#include "drydock/testing/two_processes/carrying.h"

namespace drydock::two_processes {
namespace {

using fabric::Completion;
using fabric::ErrorCode;
using fabric::PostResult;

// What all proxies share: the object over there, its closing and its end.
template <typename Interface>
class Far : public Interface {
 public:
  Far(OtherProcess& process, Interface* far) : process_(process), far_(far) {}
  ~Far() override {
    process_.Call([far = far_] { delete far; });
  }

  absl::Status Close() override {
    return process_.Call([far = far_] { return FarStatus(far->Close()); }).Here();
  }
  Interface* far() const { return far_; }

 protected:
  OtherProcess& process() const { return process_; }

 private:
  OtherProcess& process_;
  Interface* const far_;
};

// Replaces our proxy by the object over there that it stands for. False: it is none of ours, but of
// this process.
template <typename Interface>
bool ToFar(Interface*& object) {
  if (object == nullptr) return true;
  const auto* proxy = dynamic_cast<Far<Interface>*>(object);
  if (proxy == nullptr) return false;
  object = proxy->far();
  return true;
}

class FarCompletionQueue final : public Far<fabric::CompletionQueue>, private fabric::ErrorDetails {
 public:
  FarCompletionQueue(OtherProcess& process, fabric::CompletionQueue* far)
      : Far(process, far),
        details_(process.Call([far] { return far->power<fabric::ErrorDetails>(); })) {}

  fabric::ReadResult Read(std::span<Completion> entries) override {
    SharedList<Completion> read(process(), entries.size());
    const fabric::ReadResult result =
        process().Call([far = far(), to = read.items()] { return far->Read(to); });
    std::copy_n(read.items().begin(), result.count, entries.begin());
    return result;
  }
  std::string ErrorText(const Completion& completion) override {
    return process().Call([far = far(), completion] { return Text(far->ErrorText(completion)); });
  }
  std::size_t depth() const override {
    return process().Call([far = far()] { return far->depth(); });
  }
  void* QueryPower(const fabric::PowerId& power) override {
    const bool asked = &power == &fabric::ErrorDetails::kPower && details_ != nullptr;
    return asked ? static_cast<fabric::ErrorDetails*>(this) : nullptr;
  }

 private:
  void ReadErrorData(const Completion& completion, fabric::ErrorData& data) override {
    const std::string bytes = process().Call([details = details_, completion] {
      fabric::ErrorData lent;
      details->ReadErrorData(completion, lent);
      return Text({reinterpret_cast<const char*>(lent.data), lent.size_bytes});
    });
    buffer_.Give(bytes, data);
  }

  fabric::ErrorDetails* const details_;
  fabric::ErrorBuffer buffer_;
};

class FarAddressVector final : public Far<fabric::AddressVector> {
 public:
  using Far::Far;

  absl::StatusOr<fabric::Peer> Insert(const fabric::Address& address) override {
    return Here(process().Call([far = far(), address] { return Copy(far->Insert(address)); }));
  }
  absl::Status Remove(fabric::Peer peer) override {
    return process().Call([far = far(), peer] { return FarStatus(far->Remove(peer)); }).Here();
  }
  absl::StatusOr<fabric::Address> Lookup(fabric::Peer peer) const override {
    return Here(process().Call([far = far(), peer] { return Copy(far->Lookup(peer)); }));
  }
};

class FarCounter final : public Far<fabric::Counter> {
 public:
  using Far::Far;

  std::uint64_t Read() override {
    return process().Call([far = far()] { return far->Read(); });
  }
  std::uint64_t ReadErrors() override {
    return process().Call([far = far()] { return far->ReadErrors(); });
  }
  absl::Status Set(std::uint64_t value) override {
    return process().Call([far = far(), value] { return FarStatus(far->Set(value)); }).Here();
  }
  absl::Status Add(std::uint64_t value) override {
    return process().Call([far = far(), value] { return FarStatus(far->Add(value)); }).Here();
  }
};

class FarMemoryRegion final : public Far<fabric::MemoryRegion> {
 public:
  using Far::Far;

  std::byte* data() const override {
    return process().Call([far = far()] { return far->data(); });
  }
  std::size_t length_bytes() const override {
    return process().Call([far = far()] { return far->length_bytes(); });
  }
  fabric::Access access() const override {
    return process().Call([far = far()] { return far->access(); });
  }
  std::uint64_t local_key() const override {
    return process().Call([far = far()] { return far->local_key(); });
  }
  fabric::RemoteBuffer remote() const override {
    return process().Call([far = far()] { return far->remote(); });
  }
};

class FarEndpoint final : public Far<fabric::Endpoint>,
                          public fabric::TaggedMessages,
                          public fabric::Atomics,
                          public fabric::Cancel {
 public:
  FarEndpoint(OtherProcess& process, fabric::Endpoint* far)
      : Far(process, far),
        limits_(process.Call([far] { return far->limits(); })),
        tagged_(process.Call([far] { return far->power<fabric::TaggedMessages>(); })),
        atomics_(process.Call([far] { return far->power<fabric::Atomics>(); })),
        cancel_(process.Call([far] { return far->power<fabric::Cancel>(); })) {}

  PostResult Send(std::span<const fabric::SendRequest> requests) override {
    return Post(requests, [](fabric::Endpoint& far, auto carried) { return far.Send(carried); });
  }
  PostResult Recv(std::span<const fabric::RecvRequest> requests) override {
    return Post(requests, [](fabric::Endpoint& far, auto carried) { return far.Recv(carried); });
  }
  PostResult Write(std::span<const fabric::WriteRequest> requests) override {
    return Post(requests, [](fabric::Endpoint& far, auto carried) { return far.Write(carried); });
  }
  PostResult Read(std::span<const fabric::ReadRequest> requests) override {
    return Post(requests, [](fabric::Endpoint& far, auto carried) { return far.Read(carried); });
  }
  const fabric::Limits& limits() const override { return limits_; }
  fabric::Address address() const override {
    return process().Call([far = far()] { return far->address(); });
  }

  PostResult SendTagged(std::span<const fabric::TaggedSendRequest> requests) override {
    const CarriedRequests carried(process(), requests);
    return process().Call(
        [far = tagged_, items = carried.items()] { return far->SendTagged(items); });
  }
  PostResult RecvTagged(std::span<const fabric::TaggedRecvRequest> requests) override {
    const CarriedRequests carried(process(), requests);
    return process().Call(
        [far = tagged_, items = carried.items()] { return far->RecvTagged(items); });
  }

  ErrorCode Atomic(const fabric::AtomicRequest& request) override {
    return process().Call([far = atomics_, request] { return far->Atomic(request); });
  }
  std::size_t MaxAtomicBytes(fabric::AtomicOperation operation, fabric::AtomicType type,
                             bool fetching) const override {
    return process().Call([far = atomics_, operation, type, fetching] {
      return far->MaxAtomicBytes(operation, type, fetching);
    });
  }

  ErrorCode CancelReceive(fabric::Context context) override {
    return process().Call([far = cancel_, context] { return far->CancelReceive(context); });
  }

  void* QueryPower(const fabric::PowerId& power) override {
    if (&power == &fabric::TaggedMessages::kPower && tagged_ != nullptr) {
      return static_cast<fabric::TaggedMessages*>(this);
    }
    if (&power == &fabric::Atomics::kPower && atomics_ != nullptr) {
      return static_cast<fabric::Atomics*>(this);
    }
    if (&power == &fabric::Cancel::kPower && cancel_ != nullptr) {
      return static_cast<fabric::Cancel*>(this);
    }
    return nullptr;
  }

 private:
  template <typename Request, typename Method>
  PostResult Post(std::span<const Request> requests, Method method) {
    const CarriedRequests<Request> carried(process(), requests);
    return process().Call(
        [far = far(), method, items = carried.items()] { return method(*far, items); });
  }

  const fabric::Limits limits_;
  fabric::TaggedMessages* const tagged_;
  fabric::Atomics* const atomics_;
  fabric::Cancel* const cancel_;
};

class FarDomain final : public Far<fabric::Domain> {
 public:
  FarDomain(OtherProcess& process, fabric::Domain* far)
      : Far(process, far), nic_(process.Call([far] { return FarNicInfo(far->nic()); }).Here()) {}

  const fabric::NicInfo& nic() const override { return nic_; }

  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> RegisterMemory(
      const fabric::MemoryRequest& request) override {
    return Stand<FarMemoryRegion>(
        process().Call([far = far(), request] { return Keep(far->RegisterMemory(request)); }));
  }
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> OpenCompletionQueue(
      const fabric::CompletionQueueOptions& options) override {
    return Stand<FarCompletionQueue>(
        process().Call([far = far(), options] { return Keep(far->OpenCompletionQueue(options)); }));
  }
  absl::StatusOr<std::unique_ptr<fabric::AddressVector>> OpenAddressVector() override {
    return Stand<FarAddressVector>(
        process().Call([far = far()] { return Keep(far->OpenAddressVector()); }));
  }
  absl::StatusOr<std::unique_ptr<fabric::Counter>> OpenCounter() override {
    return Stand<FarCounter>(process().Call([far = far()] { return Keep(far->OpenCounter()); }));
  }
  absl::StatusOr<std::unique_ptr<fabric::Endpoint>> OpenEndpoint(
      const fabric::EndpointOptions& options) override {
    fabric::EndpointOptions there = options;
    fabric::CounterBindings& counters = there.counters;
    bool all = ToFar(there.send_queue) && ToFar(there.receive_queue) && ToFar(there.address_vector);
    for (fabric::Counter** counter :
         {&counters.sends, &counters.receives, &counters.writes, &counters.reads,
          &counters.remote_writes, &counters.remote_reads}) {
      all = all && ToFar(*counter);
    }
    if (!all) return absl::InvalidArgumentError("a part of the endpoint is of another process");
    return Stand<FarEndpoint>(
        process().Call([far = far(), there] { return Keep(far->OpenEndpoint(there)); }));
  }

 private:
  // The proxy of what was opened over there.
  template <typename Proxy, typename Interface>
  absl::StatusOr<std::unique_ptr<Interface>> Stand(const FarResult<Interface*>& opened) {
    if (opened.value == nullptr) return opened.status.Here();
    return std::make_unique<Proxy>(process(), opened.value);
  }

  const fabric::NicInfo nic_;
};

}  // namespace

FarFabric::FarFabric(fabric::Fabric* (*open)()) : process_(OtherProcess::Get()) {
  process_.Begin();
  far_ = process_.Call(open);
  description_ = process_.Call([far = far_] { return Text(far->description()); });
  const std::size_t count = process_.Call([far = far_] { return far->nics().size(); });
  for (std::size_t i = 0; i < count; ++i) {
    nics_.push_back(process_.Call([far = far_, i] { return FarNicInfo(far->nics()[i]); }).Here());
  }
}

FarFabric::~FarFabric() {
  process_.Call([far = far_] { delete far; });
  process_.End();
}

absl::StatusOr<std::unique_ptr<fabric::Domain>> FarFabric::OpenDomain(std::size_t nic) {
  const FarResult<fabric::Domain*> opened =
      process_.Call([far = far_, nic] { return Keep(far->OpenDomain(nic)); });
  if (opened.value == nullptr) return opened.status.Here();
  return std::make_unique<FarDomain>(process_, opened.value);
}

}  // namespace drydock::two_processes
