#include "drydock/fabric/libfabric/endpoint_opening.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>

#include <array>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/libfabric/errno_mapping.h"
#include "drydock/fabric/libfabric/nic_description.h"
#include "drydock/fabric/libfabric/provider_selection.h"

namespace drydock::fabric::libfabric {
namespace {

// FI_OPT_INJECT_RMA_SIZE, which rdma/fi_endpoint.h has since libfabric 2.0. Older libraries answer
// that they do not know it.
constexpr int kOptionInjectRmaSize = 18;

constexpr std::size_t kRetryForEver = 7;

struct CounterEvent {
  Counter* CounterBindings::*counter;
  std::uint64_t events;
  const char* name;
};
constexpr CounterEvent kCounterEvents[] = {
    {&CounterBindings::sends, FI_SEND, "sends"},
    {&CounterBindings::receives, FI_RECV, "receives"},
    {&CounterBindings::writes, FI_WRITE, "writes"},
    {&CounterBindings::reads, FI_READ, "reads"},
    {&CounterBindings::remote_writes, FI_REMOTE_WRITE, "remote_writes"},
    {&CounterBindings::remote_reads, FI_REMOTE_READ, "remote_reads"},
};

// The core of an object that a program gave us; null when it is closed or of another domain.
template <typename Object, typename Given>
auto CoreOf(const std::shared_ptr<DomainCore>& domain, Given& given) {
  const auto* object = dynamic_cast<Object*>(&given.Unwrap());
  const bool ours =
      object != nullptr && object->core() != nullptr && object->core()->domain == domain;
  return ours ? object->core() : nullptr;
}

absl::Status Lacks(const DomainCore& domain, absl::string_view option, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("open endpoint on ", domain.nic.described.provider,
                                               " ", domain.nic.described.name, ": ", option, ": ",
                                               why));
}

absl::Status CheckOptions(const DomainCore& domain, const CapabilitySet& capabilities,
                          const EndpointOptions& options) {
  const bool datagram = domain.nic.ask.endpoint_type == FI_EP_DGRAM;
  if (datagram != (options.type == EndpointType::kDatagram)) {
    return Lacks(domain, "type",
                 datagram ? "this domain has datagram endpoints only"
                          : "datagram endpoints are in a domain of their own: open the provider "
                            "with -dgram behind its name");
  }
  if (options.receiver_not_ready_retries.has_value()) {
    if (*options.receiver_not_ready_retries > kRetryForEver) {
      return absl::InvalidArgumentError(absl::StrCat(
          "open endpoint: receiver_not_ready_retries ", *options.receiver_not_ready_retries,
          " is over ", kRetryForEver, ", which means for ever"));
    }
    if (!capabilities.Has(Capability::kReceiverNotReadyRetry)) {
      return Lacks(domain, "receiver_not_ready_retries", "the provider does not let one choose");
    }
  }
  return absl::OkStatus();
}

// The way to open the NIC that has the features that these options want.
absl::StatusOr<NicChoice> ChooseInfo(const DomainCore& domain, const EndpointOptions& options) {
  const bool larger = options.inject_bytes > domain.nic.described.limits.inject_bytes;
  const bool other_receives =
      options.receives_take_immediates && !ReceivesTakeImmediates(*domain.nic.info);
  if (!larger && !other_receives) return domain.nic;
  absl::StatusOr<NicChoice> variant = SelectVariant(
      domain.api, domain.nic, larger ? options.inject_bytes : 0, options.receives_take_immediates);
  if (variant.ok()) return variant;
  return absl::Status(variant.status().code(),
                      absl::StrCat("open endpoint: ", variant.status().message()));
}

// REQUIRES: the endpoint is not enabled.
absl::Status SetRetries(const DomainCore& domain, const EndpointOptions& options,
                        fid_ep* endpoint) {
  if (!options.receiver_not_ready_retries.has_value()) return absl::OkStatus();
  const int result =
      domain.api.SetOption(endpoint, FI_OPT_EFA_RNR_RETRY, *options.receiver_not_ready_retries);
  if (result == 0) return absl::OkStatus();
  return ControlError(result,
                      "open endpoint: receiver_not_ready_retries: fi_setopt(EFA_RNR_RETRY)");
}

// Corrects the limits by what this endpoint was granted. REQUIRES: it is enabled (shm of libfabric
// 1.17 crashes otherwise).
void CorrectLimits(const DomainCore& domain, fid_ep* endpoint, Limits& limits) {
  Api& api = domain.api;
  std::size_t granted = 0;
  if (limits.multi_receive_bytes != 0 &&
      api.SetOption(endpoint, FI_OPT_MIN_MULTI_RECV, kMultiReceiveBytes) != 0 &&
      api.GetOption(endpoint, FI_OPT_MIN_MULTI_RECV, &granted) == 0) {
    limits.multi_receive_bytes = granted;
  }
  if (domain.is_efa && limits.max_rma_bytes != 0 &&
      api.GetOption(endpoint, kOptionInjectRmaSize, &granted) == 0) {
    limits.inject_rma_bytes = granted;
  }
}

absl::Status BindCounters(const DomainCore& domain, const EndpointParts& parts, fid_ep* endpoint) {
  for (const BoundCounter& bound : parts.counters) {
    const std::string option = absl::StrCat("counters.", bound.name);
    // Software providers accept any counter, and raise it for peers' accesses only if they say so.
    const bool of_peers = (bound.events & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0;
    if (of_peers && !domain.is_efa && (domain.nic.info->caps & FI_RMA_EVENT) == 0) {
      return Lacks(domain, option, "peers' accesses are not counted");
    }
    fid* const counter = &bound.counter->counter.get()->fid;
    const int result = domain.api.Bind(endpoint, counter, bound.events);
    if (result != 0) {
      const absl::Status status = ControlError(result, "fi_ep_bind(cntr)");
      return Lacks(domain, option, status.message());
    }
  }
  return absl::OkStatus();
}

absl::Status BindAndEnable(const DomainCore& domain, const EndpointParts& parts, fid_ep* endpoint) {
  Api& api = domain.api;
  const bool one_queue = parts.send_queue == parts.receive_queue;
  fid* const send = &parts.send_queue->queue.get()->fid;
  fid* const receive = &parts.receive_queue->queue.get()->fid;
  int result = api.Bind(endpoint, send, one_queue ? FI_TRANSMIT | FI_RECV : FI_TRANSMIT);
  if (result == 0 && !one_queue) result = api.Bind(endpoint, receive, FI_RECV);
  if (result != 0) return ControlError(result, "open endpoint: fi_ep_bind(cq)");
  result = api.Bind(endpoint, &parts.peers->vector.get()->fid, 0);
  if (result != 0) return ControlError(result, "open endpoint: fi_ep_bind(av)");
  result = domain.events.Bind(api, endpoint);
  if (result != 0) return ControlError(result, "open endpoint: fi_ep_bind(eq)");
  RETURN_IF_ERROR(BindCounters(domain, parts, endpoint));
  result = api.Enable(endpoint);
  return result == 0 ? absl::OkStatus() : ControlError(result, "open endpoint: fi_enable");
}

absl::StatusOr<Address> NameOf(Api& api, fid_ep* endpoint) {
  std::array<std::uint8_t, Address::kMaxBytes> bytes;
  std::size_t length = bytes.size();
  if (const int result = api.GetName(&endpoint->fid, bytes.data(), &length); result != 0) {
    return ControlError(result, "open endpoint: fi_getname");
  }
  return Address::FromBytes({bytes.data(), length});
}

}  // namespace

absl::StatusOr<EndpointParts> CheckParts(const std::shared_ptr<DomainCore>& domain,
                                         const EndpointOptions& options) {
  if (options.send_queue == nullptr || options.receive_queue == nullptr ||
      options.address_vector == nullptr) {
    return absl::InvalidArgumentError(
        "open endpoint: needs a send queue, a receive queue and an address vector");
  }
  EndpointParts parts;
  parts.send_queue = CoreOf<LibfabricCompletionQueue>(domain, *options.send_queue);
  parts.receive_queue = CoreOf<LibfabricCompletionQueue>(domain, *options.receive_queue);
  parts.peers = CoreOf<LibfabricAddressVector>(domain, *options.address_vector);
  bool ours =
      parts.send_queue != nullptr && parts.receive_queue != nullptr && parts.peers != nullptr;
  for (const CounterEvent& event : kCounterEvents) {
    Counter* const given = options.counters.*event.counter;
    if (given == nullptr) continue;
    parts.counters.push_back({CoreOf<LibfabricCounter>(domain, *given), event.events, event.name});
    ours = ours && parts.counters.back().counter != nullptr;
  }
  if (!ours) {
    return absl::InvalidArgumentError(
        "open endpoint: its queues, address vector and counters must be open and of the same "
        "domain");
  }
  return parts;
}

absl::StatusOr<OpenedEndpoint> OpenAndEnable(DomainCore& domain, const CapabilitySet& capabilities,
                                             const EndpointOptions& options,
                                             const EndpointParts& parts) {
  RETURN_IF_ERROR(CheckOptions(domain, capabilities, options));
  ASSIGN_OR_RETURN(const NicChoice choice, ChooseInfo(domain, options));
  fid_ep* endpoint = nullptr;
  const int result = domain.api.OpenEndpoint(domain.domain.get(), choice.info, &endpoint);
  if (result != 0) return ControlError(result, "open endpoint: fi_endpoint");
  OpenedEndpoint opened{.handle = Handle<fid_ep>(domain.api, endpoint),
                        .limits = choice.described.limits,
                        .capabilities = capabilities};
  RETURN_IF_ERROR(SetRetries(domain, options, endpoint));
  RETURN_IF_ERROR(BindAndEnable(domain, parts, endpoint));
  CorrectLimits(domain, endpoint, opened.limits);
  ASSIGN_OR_RETURN(opened.address, NameOf(domain.api, endpoint));
  return opened;
}

}  // namespace drydock::fabric::libfabric
