#include "drydock/fabric/async/transfer/transfer_request.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/immediate.h"

namespace drydock::fabric::async::transfer {
namespace {

absl::Status Refuse(const TransferOptions& options, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("transfer ", options.transfer, ": ", why));
}

bool Within(std::uint64_t offset, std::uint64_t bytes, std::uint64_t length) {
  return offset <= length && bytes <= length - offset;
}

// Rounded up. Adding to `bytes` first would wrap around for long pieces.
std::uint64_t Pieces(std::uint64_t bytes, std::uint64_t piece) {
  return bytes / piece + (bytes % piece != 0 ? 1 : 0);
}

// The numbers of the transfer and of its pages, which follow each other unless it is a scatter.
absl::Status ReadNumbers(const TransferOptions& options, std::uint64_t pages, Plan& plan,
                         bool scatter = false) {
  if (options.transfer >= kMostTransfers) {
    return Refuse(options, absl::StrCat("transfers are numbered below ", kMostTransfers));
  }
  const bool numbered = Within(options.first_page, scatter ? 1 : pages, kMostPages);
  if (pages == 0 || pages > kMostPages || !numbered) {
    return Refuse(options, absl::StrCat("pages from ", options.first_page, " on, ", pages,
                                        " of them: a transfer has 1 to ", kMostPages));
  }
  plan.transfer = options.transfer;
  plan.first_sequence = options.first_page;
  plan.pages = static_cast<std::uint32_t>(pages);
  return absl::OkStatus();
}

// The pages of one end, as the plan has them; takes the room of `offsets`.
absl::Status ReadPages(const PagesShape& shape, const PageList& list, std::uint64_t length,
                       absl::string_view end, const TransferOptions& options,
                       PageOffsets& offsets) {
  if (!list.indices.empty() && list.indices.size() != shape.pages) {
    return Refuse(options, absl::StrCat(list.indices.size(), " page numbers at the ", end, " for ",
                                        shape.pages, " pages"));
  }
  offsets.indices.assign(list.indices.begin(), list.indices.end());
  offsets.offset_bytes = list.offset_bytes;
  offsets.stride_bytes = list.stride_bytes == 0 ? shape.page_bytes : list.stride_bytes;
  const std::uint32_t last = list.indices.empty()
                                 ? shape.pages - 1
                                 : *std::max_element(list.indices.begin(), list.indices.end());
  if (!Within(list.offset_bytes, shape.page_bytes, length) ||
      last > (length - list.offset_bytes - shape.page_bytes) / offsets.stride_bytes) {
    return Refuse(options, absl::StrCat("page ", last, " of ", shape.page_bytes, " bytes at the ",
                                        end, " is past the end of ", length, " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

std::uint32_t PiecesOf(const WriteShape& shape, Policy policy, std::size_t nics) {
  std::uint64_t piece = shape.piece_bytes;
  if (piece == 0) piece = policy == Policy::kSplit ? Pieces(shape.bytes, nics) : shape.bytes;
  if (piece == 0) return 0;
  const std::uint64_t pieces = Pieces(shape.bytes, piece);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces, UINT32_MAX));
}

absl::Status PlanWrite(const WriteShape& shape, std::uint32_t pieces,
                       const TransferOptions& options, Plan& plan) {
  RETURN_IF_ERROR(ReadNumbers(options, pieces, plan));
  if (!Within(shape.source_offset, shape.bytes, plan.source->bytes().size()) ||
      !Within(shape.target_offset, shape.bytes, plan.targets[0]->length_bytes())) {
    return Refuse(
        options, absl::StrCat("write of ", shape.bytes, " bytes from ", shape.source_offset, " to ",
                              shape.target_offset, " leaves its memory"));
  }
  plan.page_bytes = shape.piece_bytes == 0 ? Pieces(shape.bytes, pieces) : shape.piece_bytes;
  plan.total_bytes = shape.bytes;
  plan.from.offset_bytes = shape.source_offset;
  plan.to.offset_bytes = shape.target_offset;
  plan.from.stride_bytes = plan.to.stride_bytes = plan.page_bytes;
  return absl::OkStatus();
}

absl::Status PlanPages(const PagesShape& shape, const TransferOptions& options, Plan& plan) {
  RETURN_IF_ERROR(ReadNumbers(options, shape.pages, plan));
  if (shape.page_bytes == 0) return Refuse(options, "pages of no bytes");
  plan.page_bytes = shape.page_bytes;
  plan.total_bytes = shape.pages * shape.page_bytes;
  RETURN_IF_ERROR(
      ReadPages(shape, shape.from, plan.source->bytes().size(), "source", options, plan.from));
  return ReadPages(shape, shape.to, plan.targets[0]->length_bytes(), "target", options, plan.to);
}

absl::Status PlanScatter(std::span<const ScatterWrite> writes, std::size_t peers,
                         const TransferOptions& options, Plan& plan) {
  RETURN_IF_ERROR(ReadNumbers(options, writes.size(), plan, /*scatter=*/true));
  std::vector<std::uint32_t> next(peers, options.first_page);           // by peer
  std::unordered_map<const RemoteMemory*, std::uint16_t> destinations;  // places in plan.targets
  for (const ScatterWrite& write : writes) {
    const bool fits = write.bytes > 0 &&
                      Within(write.source_offset, write.bytes, plan.source->bytes().size()) &&
                      Within(write.target_offset, write.bytes, write.target->length_bytes());
    if (!fits) {
      return Refuse(options, absl::StrCat("write ", plan.scatter.size(), " of ", write.bytes,
                                          " bytes from ", write.source_offset, " to ",
                                          write.target_offset, " is empty or leaves its memory"));
    }
    std::uint32_t& sequence = next[write.target->peer()];
    if (sequence == kMostPages) {
      return Refuse(options,
                    absl::StrCat("pages of peer ", write.target->peer(), " from ",
                                 options.first_page, " on: a transfer has 1 to ", kMostPages));
    }
    const auto [known, is_new] = destinations.try_emplace(
        write.target.get(), static_cast<std::uint16_t>(plan.targets.size()));
    if (is_new) plan.targets.push_back(write.target);
    plan.total_bytes += write.bytes;
    plan.scatter.push_back({.source_offset = write.source_offset,
                            .target_offset = write.target_offset,
                            .bytes = write.bytes,
                            .sequence = sequence++,
                            .destination = known->second});
  }
  if (plan.targets.size() > UINT16_MAX) {
    return Refuse(options, absl::StrCat("writes to ", plan.targets.size(),
                                        " memories at once: at most ", UINT16_MAX));
  }
  return absl::OkStatus();
}

}  // namespace drydock::fabric::async::transfer
