#include "drydock/sim/rdm/device_transfer.h"

#include <algorithm>
#include <cstring>

#include "drydock/sim/rdm/device_context.h"

namespace drydock::sim::rdm {

using fabric::ErrorCode;
using fabric::OperationKind;

DeviceTransfer::DeviceTransfer(const Services& services, Peer& peer,
                               const fabric::WriteRequest& request)
    : ServedOperation(services, peer),
      kind_(OperationKind::kWrite),
      local_(request.source),
      remote_(request.target),
      immediate_(request.immediate),
      context_(request.context) {
  if (!request.inject) return;
  packet_ = services.packets.Borrow();
  local_ = services.packets.BorrowedBuffer(*packet_, request.source.length_bytes);
  if (local_.length_bytes > 0) {
    std::memcpy(local_.data, request.source.data, request.source.length_bytes);
  }
}

DeviceTransfer::DeviceTransfer(const Services& services, Peer& peer,
                               const fabric::ReadRequest& request)
    : ServedOperation(services, peer),
      kind_(OperationKind::kRead),
      local_(request.target),
      remote_(request.source),
      context_(request.context) {}

Blocked DeviceTransfer::Advance() {
  while (outcome_.ok() && (!begun_ || posted_ < local_.length_bytes)) {
    const std::uint64_t length =
        std::min<std::uint64_t>(services().max_rma_bytes, local_.length_bytes - posted_);
    const ErrorCode error = PostPiece(length);
    if (error == ErrorCode::kAgain) return Blocked::kByDevice;
    if (error != ErrorCode::kOk) {
      outcome_ = {error, 0};
      break;
    }
    begun_ = true;
    posted_ += length;
    ++in_flight_;
  }
  return Blocked::kNo;
}

ErrorCode DeviceTransfer::PostPiece(std::uint64_t length) {
  const fabric::LocalBuffer local{local_.data + posted_, static_cast<std::size_t>(length),
                                  local_.local_key};
  const fabric::RemoteBuffer remote{remote_.address + posted_, remote_.key};
  const fabric::Context context = MakeContext(DeviceRequest::kTransfer, id());
  const fabric::Peer device_peer = peer().entry->device_peer;
  if (kind_ == OperationKind::kRead) {
    return services().device.Read(fabric::ReadRequest{
        .target = local, .source = remote, .peer = device_peer, .context = context});
  }
  return services().device.Write(fabric::WriteRequest{.source = local,
                                                      .target = remote,
                                                      .peer = device_peer,
                                                      .immediate = immediate_,
                                                      .context = context});
}

void DeviceTransfer::OnTransferred(const Outcome& outcome) {
  --in_flight_;
  if (outcome_.ok()) outcome_ = outcome;
}

bool DeviceTransfer::Done() const {
  return in_flight_ == 0 && (!outcome_.ok() || (begun_ && posted_ == local_.length_bytes));
}

void DeviceTransfer::Report() {
  if (packet_.has_value()) services().packets.GiveBack(*packet_);
  services().reporter.Ended(kind_, context_, outcome_);
}

}  // namespace drydock::sim::rdm
