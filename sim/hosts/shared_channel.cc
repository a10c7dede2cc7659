#include "drydock/sim/hosts/shared_channel.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/bell.h"

namespace drydock::sim {
namespace {

// The data of a ring, or less where shared memory is short.
constexpr std::size_t kMostRingBytes = 1 << 20;
constexpr std::size_t kLeastRingBytes = 64 << 10;

// A message of the machine of this slot is there.
void RingFor(std::uint8_t slot, MachineSlot& there) {
  there.incoming[slot / 64].fetch_or(std::uint64_t{1} << (slot % 64), std::memory_order_seq_cst);
}

}  // namespace

bool SharedChannel::OpenOut() {
  if (out_.has_value()) return true;
  const std::string name =
      directory_.RingName(directory_.slot(), directory_.incarnation(), slot_, incarnation_);
  for (std::size_t bytes = kMostRingBytes; bytes >= kLeastRingBytes; bytes /= 2) {
    absl::StatusOr<SharedFile> file = SharedFile::Make(name, RingBytes(bytes));
    if (!file.ok()) continue;
    out_file_ = *std::move(file);
    out_.emplace(std::span(out_file_.data(), out_file_.size()));
    return true;
  }
  return false;
}

bool SharedChannel::OpenIn() {
  if (in_.has_value()) return true;
  const std::string name =
      directory_.RingName(slot_, incarnation_, directory_.slot(), directory_.incarnation());
  absl::StatusOr<SharedFile> file = SharedFile::Open(name, RingBytes(kMostRingBytes));
  // Without a descriptor or memory for it the ring stays closed, and what rings once is not rung for
  // again: we ring ourselves.
  if (absl::IsResourceExhausted(file.status())) RingFor(slot_, directory_.mine());
  if (!file.ok()) return false;
  const std::span memory(file->data(), file->size());
  if (!RingReader::IsMade(memory)) return false;
  SharedFile::Unlink(name);  // both sides have it now
  in_file_ = *std::move(file);
  in_.emplace(memory);
  return true;
}

std::byte* SharedChannel::Reserve(std::size_t bytes) {
  // The rings of a forked child are its parent's.
  return !directory_.abandoned() && OpenOut() ? out_->Reserve(bytes) : nullptr;
}

void SharedChannel::Publish() {
  if (!out_.has_value() || directory_.abandoned()) return;
  out_->Publish();
  MachineSlot& there = directory_.At(slot_);
  RingFor(directory_.slot(), there);
  Bell(there.bell).Ring();
}

bool SharedChannel::Next(std::span<const std::byte>& message) {
  if (garbage_ || !OpenIn()) return false;
  const RingReader::Result result = in_->Next(message);
  garbage_ = result == RingReader::Result::kGarbage;
  return result == RingReader::Result::kMessage;
}

Channel::State SharedChannel::state() const {
  const bool sound = !garbage_ && !(out_.has_value() && out_->broken());
  return sound ? State::kSound : State::kGarbage;
}

}  // namespace drydock::sim
