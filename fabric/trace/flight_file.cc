#include "drydock/fabric/trace/flight_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/trace/flight_alarm.h"
#include "drydock/fabric/trace/flight_layout.h"

namespace drydock::fabric::trace {
namespace {

template <typename Number>
void Put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string TemporaryFolder() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

}  // namespace

absl::StatusOr<std::unique_ptr<FlightFile>> FlightFile::Create() {
  std::string path = absl::StrCat(TemporaryFolder(), "/drydock-flight-", getpid(), "-XXXXXX");
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    return absl::UnavailableError(absl::StrCat("flight file ", path, ": ", std::strerror(errno)));
  }
  // Room on the disk now: without it, the first write to a page would end the process.
  const int error = posix_fallocate(file, 0, sizeof(FlightLayout));
  void* mapped =
      error != 0 ? MAP_FAILED
                 : mmap(nullptr, sizeof(FlightLayout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) {
    unlink(path.c_str());
    return absl::UnavailableError(
        absl::StrCat("flight file ", path, ": ", std::strerror(error != 0 ? error : errno)));
  }
  return std::unique_ptr<FlightFile>(
      new FlightFile(std::move(path), static_cast<FlightLayout*>(mapped)));
}

FlightFile::FlightFile(std::string path, FlightLayout* layout)
    : path_(std::move(path)), layout_(layout), pid_(getpid()) {
  FlightHeader& header = layout_->header;
  header.magic = kFlightMagic;
  header.version = kFlightVersion;
  header.event_bytes = sizeof(Event);
  Announce(path_.c_str());
}

FlightFile::~FlightFile() {
  Withdraw(path_.c_str());
  munmap(layout_, sizeof(FlightLayout));
  if (getpid() == pid_) unlink(path_.c_str());
}

void FlightFile::AddName(char type, std::string_view bytes) {
  const std::uint64_t used = layout_->header.name_bytes.load(std::memory_order_relaxed);
  const auto length = static_cast<std::uint32_t>(bytes.size());
  if (bytes.size() > kFlightNameBytes || used + 1 + sizeof length + length > kFlightNameBytes)
    return;
  char* to = layout_->names.data() + used;
  *to = type;
  std::memcpy(to + 1, &length, sizeof length);
  std::memcpy(to + 1 + sizeof length, bytes.data(), length);
  layout_->header.name_bytes.store(used + 1 + sizeof length + length, std::memory_order_release);
}

void FlightFile::Add(const TraceInfo& info) {
  std::string bytes;
  Put(bytes, info.seed);
  Put(bytes, info.simulated);
  Put(bytes, info.virtual_time);
  Put(bytes, static_cast<std::uint32_t>(info.program.size()));
  AddName(kInfoName, bytes + info.program + info.backend);
}

void FlightFile::AddNode(std::string_view name) { AddName(kNodeName, name); }

void FlightFile::AddTrack(const Track& track) {
  std::string bytes;
  Put(bytes, track.node);
  Put(bytes, track.kind);
  Put(bytes, track.number);
  AddName(kTrackName, bytes + track.nic);
}

void FlightFile::AddText(std::uint32_t id, std::string_view text) {
  std::string bytes;
  Put(bytes, id);
  AddName(kTextName, absl::StrCat(bytes, absl::string_view(text.data(), text.size())));
}

void FlightFile::Append(const Event& event) {
  const std::uint64_t number = layout_->header.events.load(std::memory_order_relaxed);
  Event& slot = layout_->ring[number % kFlightSlots];
  std::memcpy(&slot, &event, sizeof event);
  slot.sequence = static_cast<std::uint32_t>(number);
  layout_->header.events.store(number + 1, std::memory_order_release);
}

}  // namespace drydock::fabric::trace
