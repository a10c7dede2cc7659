#include "drydock/fabric/faults/faulty_objects.h"

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::fabric::faults {

absl::Status ErrorOf(const Firing& firing, absl::string_view what) {
  switch (firing.fault()) {
    case Fault::kOpenDomainFails:
    case Fault::kOpenAddressVectorFails:
    case Fault::kOpenCompletionQueueFails:
    case Fault::kOpenEndpointFails:
    case Fault::kOpenCounterFails:
    case Fault::kRegisterMemoryFails:
    case Fault::kInsertPeerFails:
      return ToStatus(firing.parameters().error,
                      absl::StrCat(what, " (made by the fault rule ", firing.rule->name, ")"));
    default:
      RefuseFault(firing.fault());
  }
}

// ---- Completion queues ----

ReadResult FaultyCompletionQueue::Read(std::span<Completion> entries) {
  return core_->Read(wrapped(), entries);
}

std::string FaultyCompletionQueue::ErrorText(const Completion& completion) {
  std::string text = core_->ErrorText(completion);
  return text.empty() ? wrapped().ErrorText(completion) : text;
}

void* FaultyCompletionQueue::QueryPower(const PowerId& power) {
  if (&power == &QueueCore::kPower) return core_.get();
  void* below = ForwardingCompletionQueue::QueryPower(power);
  if (below == nullptr) return nullptr;
  if (&power == &BlockingWait::kPower) return static_cast<BlockingWait*>(this);
  if (&power == &ErrorDetails::kPower) return static_cast<ErrorDetails*>(this);
  return below;
}

void FaultyCompletionQueue::ReadErrorData(const Completion& completion, ErrorData& data) {
  const std::string text = core_->ErrorText(completion);
  if (text.empty()) return wrapped().power<ErrorDetails>()->ReadErrorData(completion, data);
  error_buffer_.GiveText(text, data);
}

void FaultyCompletionQueue::Wait(coro::Time deadline) {
  core_->Wait(*wrapped().power<BlockingWait>(), deadline);
}

// ---- Address vectors ----

absl::StatusOr<Peer> FaultyAddressVector::Insert(const Address& address) {
  EventView view;
  view.nic = nic_;
  if (const Firing firing = session_->Decide(Point::kInsertPeer, view)) {
    return ErrorOf(firing, "insert peer");
  }
  ASSIGN_OR_RETURN(const Peer peer, ForwardingAddressVector::Insert(address));
  directory_->Add(peer, address);
  return peer;
}

absl::Status FaultyAddressVector::Remove(Peer peer) {
  RETURN_IF_ERROR(ForwardingAddressVector::Remove(peer));
  directory_->Remove(peer);
  return absl::OkStatus();
}

void* FaultyAddressVector::QueryPower(const PowerId& power) {
  if (&power == &PeerDirectory::kPower) return directory_.get();
  return ForwardingAddressVector::QueryPower(power);
}

}  // namespace drydock::fabric::faults
