#include "drydock/sim/device/completion_writer.h"

#include <algorithm>
#include <utility>

namespace drydock::sim {

CompletionRing& CompletionWriter::RingOf(const QueuePair& queue_pair, Queue queue) {
  return queue == Queue::kSend ? *queue_pair.send_ring : *queue_pair.receive_ring;
}

void CompletionWriter::Tell(const CompletionRing& ring, const DeviceCompletion& completion,
                            EntryFate fate) {
  around_.observers.Tell<&Observer::OnReported>(nic_, ring, completion, fate);
}

void CompletionWriter::Write(const QueuePair& queue_pair, Queue queue,
                             const DeviceCompletion& completion) {
  CompletionRing& ring = RingOf(queue_pair, queue);
  EntryFate fate = EntryFate::kWritten;
  if (!ring.Push(completion)) [[unlikely]] {
    ++nic_.counters.completions_lost;
    fate = ring.doorbell() ? EntryFate::kNoRoom : EntryFate::kOverwrote;
  }
  Tell(ring, completion, fate);
  around_.timeline.Wake();
  if (!held_.empty()) [[unlikely]] {
    CountDown(ring);
  }
}

void CompletionWriter::Write(const QueuePair& queue_pair, Queue queue,
                             const DeviceCompletion& completion, const CompletionVerdict& verdict) {
  using When = CompletionVerdict::When;
  if (verdict.when == When::kNow) {
    for (std::uint32_t i = 0; i <= verdict.repeats; ++i) Write(queue_pair, queue, completion);
    return;
  }
  CompletionRing& ring = RingOf(queue_pair, queue);
  Tell(ring, completion, EntryFate::kWithheld);
  const auto write = [this, number = queue_pair.number, serial = queue_pair.serial, queue,
                      completion] {
    const QueuePair* found = nic_.queue_pairs.FindSame(number, serial);
    if (found != nullptr && nic_.alive()) Write(*found, queue, completion);
  };
  switch (verdict.when) {
    case When::kLater:
      around_.deferred.After(verdict.delay, write);
      break;
    case When::kAfterOthers:
      Hold(ring, verdict, write);
      break;
    case When::kOverrun:
      ++nic_.counters.completions_lost;
      break;
    case When::kNow:
    case When::kNever:
      break;
  }
  for (std::uint32_t i = 0; i < verdict.repeats; ++i) Write(queue_pair, queue, completion);
}

void CompletionWriter::Hold(const CompletionRing& ring, const CompletionVerdict& verdict,
                            std::function<void()> write) {
  const std::uint64_t number = next_held_++;
  held_.push_back(
      {.number = number, .ring = &ring, .left = verdict.others, .write = std::move(write)});
  around_.deferred.After(verdict.delay, [this, number] { Release(number); });
}

void CompletionWriter::Release(std::uint64_t number) {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [&](const Held& held) { return held.number == number; });
  if (found == held_.end()) return;
  const std::function<void()> write = std::move(found->write);
  held_.erase(found);
  write();
}

void CompletionWriter::CountDown(const CompletionRing& ring) {
  for (Held& held : held_) {
    if (held.ring == &ring) --held.left;
  }
  // A release writes, and may release others.
  while (true) {
    const auto ready =
        std::find_if(held_.begin(), held_.end(), [](const Held& held) { return held.left <= 0; });
    if (ready == held_.end()) return;
    Release(ready->number);
  }
}

}  // namespace drydock::sim
