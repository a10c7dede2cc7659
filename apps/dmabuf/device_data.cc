#include "drydock/apps/dmabuf/device_data.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::dmabuf {

using fabric::async::BufferRef;
using gpu::Registration;

absl::StatusOr<RegisterBy> ParseRegisterBy(absl::string_view name) {
  if (name == "auto") return RegisterBy::kAuto;
  if (name == "dmabuf") return RegisterBy::kDmabuf;
  if (name == "address") return RegisterBy::kAddress;
  return absl::InvalidArgumentError(
      absl::StrCat("--register=", name, " does not exist: auto, dmabuf or address"));
}

absl::StatusOr<BufferRef> DeviceData::AllocateBy(fabric::Domain& domain, std::size_t length_bytes,
                                                 Registration registration) {
  return gpu::AllocateDeviceBuffer(
      domain, device_, length_bytes,
      {.registration = registration, .allocation = allocation_, .access = fabric::Access::kAll});
}

absl::StatusOr<BufferRef> DeviceData::Allocate(fabric::async::Node& node,
                                               std::size_t length_bytes) {
  if (how_ != RegisterBy::kAddress) {
    absl::StatusOr<BufferRef> buffer =
        AllocateBy(node.domain(), length_bytes, Registration::kDmabuf);
    registered_ = "by dmabuf";
    const bool lacking = buffer.status().code() == absl::StatusCode::kUnimplemented;
    if (how_ == RegisterBy::kDmabuf || !lacking) return buffer;
    registered_ = absl::StrCat("by address (", buffer.status().message(), ")");
  } else {
    registered_ = "by address";
  }
  return AllocateBy(node.domain(), length_bytes, Registration::kAddress);
}

absl::Status DeviceData::Fill(const BufferRef& region, std::size_t length_bytes,
                              std::uint64_t seed) {
  ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Stream> stream, device_.OpenStream());
  RETURN_IF_ERROR(stream->Fill(region->bytes().data(), length_bytes, {seed}));
  return stream->Synchronize();
}

absl::StatusOr<Verification> DeviceData::Check(const PageList& list,
                                               const std::array<BufferRef, kRegionCount>& regions) {
  // The announcements were read; that does not mean that the device sees what they announce.
  RETURN_IF_ERROR(device_.FlushRemoteWrites());
  ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Stream> stream, device_.OpenStream());
  const std::uint64_t page_words = list.page_bytes / word_bytes();
  Verification result;
  for (std::size_t region = 0; region < kRegionCount; ++region) {
    for (std::size_t k = 0; k < list.page_indices.size(); ++k) {
      const std::uint32_t page = list.page_indices[k];
      const std::byte* const arrived = regions[region]->bytes().data() + page * list.page_bytes;
      ASSIGN_OR_RETURN(
          const gpu::Mismatch mismatch,
          stream->Verify(arrived, list.page_bytes, {list.data_seed + region, k * page_words}));
      ++result.pages;
      if (!mismatch.none()) result.wrong_pages[region].push_back(page);
    }
  }
  return result;
}

std::string DeviceData::Describe() const {
  return absl::StrCat(device_.name(), " (", device_.description(), "), registered ", registered_);
}

}  // namespace drydock::apps::dmabuf
