#include "drydock/gpu/gda/proxy_server.h"

#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/efa_queue/cqe.h"

namespace drydock::gpu::gda {

namespace efa = fabric::efa_queue;

namespace {

constexpr std::size_t kMostAtOnce = 64;

std::size_t BytesFor(std::uint32_t entries) {
  return entries * (sizeof(ProxyCommand) + sizeof(std::uint64_t)) + 2 * 64;
}

ProxyView Divide(std::byte* memory, std::uint32_t entries) {
  ProxyView view;
  view.entry_count = entries;
  view.ended = reinterpret_cast<std::uint32_t*>(memory);
  view.failures = reinterpret_cast<std::uint64_t*>(memory + 64);
  view.commands = reinterpret_cast<ProxyCommand*>(memory + 128);
  view.done = reinterpret_cast<std::uint64_t*>(memory + 128 + entries * sizeof(ProxyCommand));
  return view;
}

std::optional<std::uint32_t> ImmediateOf(const Transfer& transfer) {
  if (!transfer.has_immediate) return std::nullopt;
  return transfer.immediate;
}

}  // namespace

absl::StatusOr<ProxyServer> ProxyServer::Open(fabric::Endpoint& endpoint,
                                              fabric::CompletionQueue& queue, fabric::Peer peer,
                                              std::uint32_t entries) {
  if (!std::has_single_bit(entries)) {
    return absl::InvalidArgumentError(
        absl::StrCat("open proxy: ", entries, " entries are no power of two"));
  }
  ASSIGN_OR_RETURN(HostPages pages, HostPages::Allocate(BytesFor(entries)));
  return ProxyServer(endpoint, queue, peer, entries, std::move(pages));
}

ProxyServer::ProxyServer(fabric::Endpoint& endpoint, fabric::CompletionQueue& queue,
                         fabric::Peer peer, std::uint32_t entries, HostPages pages)
    : endpoint_(&endpoint),
      queue_(&queue),
      peer_(peer),
      pages_(std::move(pages)),
      view_(Divide(pages_.data(), entries)) {}

bool ProxyServer::Step() {
  bool any = false;
  for (;;) {
    ProxyCommand& command = view_.commands[(taken_ + 1) & (view_.entry_count - 1)];
    if (efa::LoadPublishedWord(&command, 0) != taken_ + 1) break;
    const Transfer transfer = command.transfer;
    if (!Post(taken_ + 1, transfer)) break;
    ++taken_;
    any = true;
  }
  return ReadCompletions() || any;
}

const fabric::MemoryRegion* ProxyServer::FindRegion(const Transfer& transfer) const {
  for (const fabric::MemoryRegion* region : regions_) {
    const std::uint64_t offset = transfer.local - reinterpret_cast<std::uint64_t>(region->data());
    if (static_cast<std::uint32_t>(region->local_key()) == transfer.lkey &&
        offset <= region->length_bytes() && transfer.length <= region->length_bytes() - offset) {
      return region;
    }
  }
  return nullptr;
}

bool ProxyServer::Post(std::uint64_t number, const Transfer& transfer) {
  const fabric::MemoryRegion* const region = FindRegion(transfer);
  if (region == nullptr) {
    End(number, static_cast<std::uint32_t>(efa::CompletionStatus::kLocalInvalidLkey));
    return true;
  }
  const fabric::LocalBuffer local{reinterpret_cast<std::byte*>(transfer.local), transfer.length,
                                  region->local_key()};
  const fabric::RemoteBuffer remote{transfer.remote, transfer.rkey};
  const fabric::Context context{number};
  fabric::ErrorCode error = fabric::ErrorCode::kInvalidArgument;
  if (transfer.operation == efa::Operation::kWrite) {
    fabric::WriteRequest request;
    request.source = local;
    request.target = remote;
    request.peer = peer_;
    request.immediate = ImmediateOf(transfer);
    request.context = context;
    error = endpoint_->Write(request);
  } else if (transfer.operation == efa::Operation::kRead) {
    fabric::ReadRequest request;
    request.target = local;
    request.source = remote;
    request.peer = peer_;
    request.context = context;
    error = endpoint_->Read(request);
  } else if (transfer.operation == efa::Operation::kSend) {
    fabric::SendRequest request;
    request.buffer = local;
    request.peer = peer_;
    request.immediate = ImmediateOf(transfer);
    request.context = context;
    error = endpoint_->Send(request);
  }
  if (error == fabric::ErrorCode::kAgain) return false;
  if (error != fabric::ErrorCode::kOk) End(number, kProxyRefused);
  return true;
}

bool ProxyServer::ReadCompletions() {
  std::array<fabric::Completion, kMostAtOnce> completions;
  const fabric::ReadResult read = queue_->Read(completions);
  for (std::size_t i = 0; i < read.count; ++i) {
    const fabric::Completion& done = completions[i];
    if (!done.context.has_value()) continue;  // what peers did
    std::uint32_t status = 0;
    if (!done.ok()) {
      const bool told = done.provider_error > 0 && done.provider_error < 255;
      status = told ? static_cast<std::uint32_t>(done.provider_error) : kProxyRefused;
    }
    End(static_cast<std::uint64_t>(*done.context), status);
  }
  return read.count != 0;
}

void ProxyServer::End(std::uint64_t number, std::uint32_t status) {
  if (status != 0) {
    efa::PublishWord(view_.failures, 0, ++failures_ << 8 | (status & 0xFF));
  }
  efa::PublishWord(view_.done + (number & (view_.entry_count - 1)), 0,
                   number << 8 | (status & 0xFF));
  StoreBell(view_.ended, *view_.ended + 1);
}

}  // namespace drydock::gpu::gda
