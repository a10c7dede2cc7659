#include "drydock/sim/driver/domain_counter.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim {
namespace {

// libfabric polls so many entries of a device's queue into its own, for a reader of a counter
// (ofiwg/libfabric prov/efa/src/efa_cntr.c, efa_cntr_progress; its efa_cq_read_size).
constexpr std::size_t kEntriesAtOnce = 50;

absl::StatusOr<DomainCounter::Word> WordAt(DomainCore& domain, fabric::MemoryRequest where) {
  if (where.data == nullptr) return DomainCounter::Word{};
  if (where.length_bytes < fabric::kCounterWordBytes ||
      reinterpret_cast<std::uintptr_t>(where.data) % fabric::kCounterWordBytes != 0) {
    return absl::InvalidArgumentError("open counter: a word has 8 bytes, and is aligned to them");
  }
  DomainCounter::Word word{.at = where.data, .pinned = nullptr};
  if (where.kind == fabric::MemoryKind::kSystem) {
    if (!where.dmabuf.has_value()) return word;
    return absl::InvalidArgumentError(
        "open counter: a dmabuf of host memory; simulated NICs take those of attached devices");
  }
  ASSIGN_OR_RETURN(word.pinned, domain.world.bus().Pin(where));
  return word;
}

}  // namespace

std::shared_ptr<DomainCounter> DomainCounter::Open(std::shared_ptr<DomainCore> domain) {
  auto counter = domain->nic.admin().CreateCounter();
  return std::make_shared<DomainCounter>(std::move(domain),
                                         counter.ok() ? *std::move(counter) : nullptr);
}

absl::StatusOr<std::shared_ptr<DomainCounter>> DomainCounter::OpenIn(
    std::shared_ptr<DomainCore> domain, const fabric::CounterMemory& memory) {
  ASSIGN_OR_RETURN(Word successes, WordAt(*domain, memory.successes));
  ASSIGN_OR_RETURN(Word failures, WordAt(*domain, memory.failures));
  ASSIGN_OR_RETURN(auto core, domain->nic.admin().CreateCounter());
  auto counter = std::make_shared<DomainCounter>(std::move(domain), std::move(core));
  counter->successes_ = std::move(successes);
  counter->failures_ = std::move(failures);
  // The counter outlives the queue pairs that raise its core: their endpoints share it.
  // Each number has its word: the other one is not touched.
  counter->core_->changed = [self = counter.get()](std::uint64_t CounterCore::*number) {
    const CounterCore& numbers = *self->core_;
    if (number == &CounterCore::value) {
      self->Store(self->successes_, numbers.value);
    } else {
      self->Store(self->failures_, numbers.errors);
    }
  };
  return counter;
}

DomainCounter::DomainCounter(std::shared_ptr<DomainCore> domain, std::shared_ptr<CounterCore> core)
    : domain_(std::move(domain)),
      core_(core != nullptr ? core : std::make_shared<CounterCore>()),
      in_device_(core != nullptr) {}

DomainCounter::~DomainCounter() {
  core_->changed = nullptr;
  if (in_device_) domain_->nic.admin().DestroyCounter();
  successes_.pinned.reset();
  failures_.pinned.reset();
  domain_->world.bus().Forget();
}

void DomainCounter::Store(const Word& word, std::uint64_t number) const {
  if (word.at == nullptr) return;
  if (word.pinned == nullptr) {
    // A thread that waits for it sees all that was written before.
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(word.at))
        .store(number, std::memory_order_release);
  } else {
    domain_->world.bus().Copy(word.at, reinterpret_cast<const std::byte*>(&number), sizeof number,
                              {.into = domain_->nic.state().index()});
  }
}

void DomainCounter::AddQueue(const std::shared_ptr<QueueCore>& queue) {
  const bool known = std::any_of(queues_.begin(), queues_.end(),
                                 [&](const auto& other) { return other.lock() == queue; });
  if (!known) queues_.push_back(queue);
}

void DomainCounter::Progress() {
  std::erase_if(queues_, [](const auto& queue) { return queue.expired(); });
  for (const auto& queue : queues_) queue.lock()->Stage(kEntriesAtOnce);
}

}  // namespace drydock::sim
