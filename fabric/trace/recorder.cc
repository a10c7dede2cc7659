#include "drydock/fabric/trace/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"

namespace drydock::fabric::trace {

Recorder::Recorder(const RecorderOptions& options)
    : capacity_(options.capacity), start_(steady_.Now()) {
  recording_.info = options.info;
  if (!options.flight) return;
  absl::StatusOr<std::unique_ptr<FlightFile>> flight = FlightFile::Create();
  if (!flight.ok()) return;
  flight_ = *std::move(flight);
  flight_->Add(recording_.info);
}

void Recorder::UseClock(const coro::Clock* clock, coro::Time start) {
  const std::lock_guard lock(mutex_);
  clock_ = clock;
  start_ = start;
  before_ns_ = last_ns_;
}

std::int64_t Recorder::Now() const {
  const std::lock_guard lock(mutex_);
  if (clock_ != nullptr) {
    last_ns_ = std::max(last_ns_, before_ns_ + (clock_->Now() - start_).count());
  }
  return last_ns_;
}

void Recorder::Describe(std::string_view backend, bool simulated, bool virtual_time) {
  const std::lock_guard lock(mutex_);
  TraceInfo& info = recording_.info;
  info.backend = backend;
  info.simulated = simulated;
  info.virtual_time = virtual_time;
  if (flight_ != nullptr) flight_->Add(info);
}

std::uint16_t Recorder::Node(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string>& nodes = recording_.nodes;
  const auto found = std::find(nodes.begin(), nodes.end(), name);
  if (found == nodes.end()) {
    nodes.emplace_back(name);
    operations_.push_back(0);
    if (flight_ != nullptr) flight_->AddNode(name);
    return static_cast<std::uint16_t>(nodes.size() - 1);
  }
  return static_cast<std::uint16_t>(found - nodes.begin());
}

std::uint32_t Recorder::NicOf(std::uint16_t node, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<std::uint32_t>(nics_.size());
  return nics_.try_emplace({node, std::string(name)}, number).first->second;
}

std::uint32_t Recorder::TrackOf(const Track& track) {
  const std::lock_guard lock(mutex_);
  std::uint32_t& id = tracks_[track];
  if (id == kNone) {
    recording_.tracks.push_back(track);
    id = static_cast<std::uint32_t>(recording_.tracks.size());
    if (flight_ != nullptr) flight_->AddTrack(track);
  }
  return id;
}

std::uint32_t Recorder::Text(std::string text, bool flight) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t id = ++texts_;
  if (flight && flight_ != nullptr) flight_->AddText(id, text);
  // A program that opens and closes for ever must not grow by texts that no trace will show.
  if (recording_.events.size() < capacity_) {
    recording_.texts.resize(id);
    recording_.texts[id - 1] = std::move(text);
  }
  return id;
}

std::uint32_t Recorder::NewObject() {
  const std::lock_guard lock(mutex_);
  return ++objects_;
}

std::uint64_t Recorder::NewOperations(std::uint16_t node, std::size_t count) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = operations_[node] + 1;
  operations_[node] += count;
  return first;
}

bool Recorder::has_operations() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(operations_.begin(), operations_.end(),
                     [](std::uint64_t count) { return count > 0; });
}

void Recorder::Record(std::span<const Event> events) {
  const std::lock_guard lock(mutex_);
  if (flight_ != nullptr) {
    for (const Event& event : events) flight_->Append(event);
  }
  if (capacity_ == 0) return;
  std::vector<Event>& kept = recording_.events;
  if (kept.size() + events.size() > capacity_) {
    recording_.dropped += events.size();
    return;
  }
  kept.insert(kept.end(), events.begin(), events.end());
}

void Recorder::AddRegion(std::uint32_t nic, const Regions::Region& region, std::uint64_t local_key,
                         std::uint64_t remote_key) {
  const std::lock_guard lock(mutex_);
  regions_.Add(nic, region, local_key, remote_key);
}

void Recorder::RemoveRegion(std::uint32_t nic, std::uint32_t id, std::uint64_t local_key,
                            std::uint64_t remote_key) {
  const std::lock_guard lock(mutex_);
  regions_.Remove(nic, id, local_key, remote_key);
}

bool Recorder::Locate(std::uint32_t nic, std::uint64_t key, Event& event) const {
  const std::lock_guard lock(mutex_);
  const Regions::Region* region = regions_.Find(nic, key, event.address);
  if (region == nullptr) return false;
  event.object = region->id;
  event.offset = event.address - region->address;
  event.address = 0;
  return true;
}

void Recorder::AddWork(const Address& address, std::shared_ptr<PostedWork> work) {
  const std::lock_guard lock(mutex_);
  work_[address.ToHex()] = std::move(work);
}

void Recorder::RemoveWork(const Address& address) {
  const std::lock_guard lock(mutex_);
  work_.erase(address.ToHex());
}

std::shared_ptr<PostedWork> Recorder::WorkOf(const Address& address) const {
  const std::lock_guard lock(mutex_);
  const auto found = work_.find(address.ToHex());
  return found == work_.end() ? nullptr : found->second;
}

Recording Recorder::Take() {
  const std::lock_guard lock(mutex_);
  std::vector<Event> events = std::exchange(recording_.events, {});
  Recording taken = recording_;
  taken.events = std::move(events);
  recording_.dropped = 0;
  return taken;
}

}  // namespace drydock::fabric::trace
