#include "drydock/testing/benchmarks/exchange.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/error.h"
#include "drydock/sim/driver/sim_fabric.h"

namespace drydock::bench {
namespace {

constexpr coro::Duration kLook = std::chrono::microseconds(200);
constexpr int kMostLooks = 5000;  // a second

}  // namespace

absl::StatusOr<std::unique_ptr<Exchange>> Exchange::Open(const sim::Profile& profile,
                                                         std::size_t machines, std::size_t bytes) {
  std::unique_ptr<Exchange> exchange(new Exchange(profile, bytes));
  exchange->machines_.reserve(machines);
  for (std::size_t i = 0; i < machines; ++i) RETURN_IF_ERROR(exchange->AddMachine(i));
  return exchange;
}

absl::Status Exchange::AddMachine(std::size_t number) {
  Machine& machine = machines_.emplace_back();
  machine.fabric = sim::OpenSimFabric(world_, world_.AddNode(absl::StrCat("m", number)));
  const std::size_t nics = machine.fabric->nics().size();
  machine.memory.resize(nics * 2 * bytes_);
  for (std::size_t nic = 0; nic < nics; ++nic) RETURN_IF_ERROR(Open(machine, nic));
  return absl::OkStatus();
}

absl::Status Exchange::Open(Machine& machine, std::size_t nic) {
  End& end = machine.ends.emplace_back();
  ASSIGN_OR_RETURN(static_cast<fabric::OpenedNic&>(end),
                   fabric::OpenNic(*machine.fabric, {.nic = nic}));
  ASSIGN_OR_RETURN(end.region,
                   end.domain->RegisterMemory({.data = machine.memory.data() + nic * 2 * bytes_,
                                               .length_bytes = 2 * bytes_,
                                               .access = fabric::Access::kAll}));
  end.targets.resize(1, fabric::kNoPeer);
  return absl::OkStatus();
}

absl::Status Exchange::Introduce(std::size_t distance) {
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    for (std::size_t nic = 0; nic < machines_[i].ends.size(); ++nic) {
      End& from = machines_[i].ends[nic];
      End& to = Behind(i, distance).ends[nic];
      from.targets.resize(std::max(from.targets.size(), distance + 1), fabric::kNoPeer);
      ASSIGN_OR_RETURN(from.targets[distance], from.peers->Insert(to.endpoint->address()));
      RETURN_IF_ERROR(to.peers->Insert(from.endpoint->address()).status());
    }
  }
  return absl::OkStatus();
}

absl::Status Exchange::Post(std::size_t distance) {
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    for (std::size_t nic = 0; nic < machines_[i].ends.size(); ++nic) {
      End& from = machines_[i].ends[nic];
      fabric::RemoteBuffer target = Behind(i, distance).ends[nic].region->remote();
      target.address += bytes_;
      fabric::WriteRequest write;
      write.source = from.region->Local(0, bytes_);
      write.target = target;
      write.peer = from.targets[distance];
      write.context = fabric::Context{1};
      const fabric::ErrorCode error = from.endpoint->Write(write);
      if (error != fabric::ErrorCode::kOk) return fabric::ToStatus(error, "write");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> Exchange::Collect() {
  std::size_t completed = 0;
  std::array<fabric::Completion, 4> read;
  for (Machine& machine : machines_) {
    for (End& end : machine.ends) {
      const fabric::ReadResult result = end.queue->Read(read);
      if (result.error != fabric::ErrorCode::kOk) return fabric::ToStatus(result.error, "read");
      for (std::size_t i = 0; i < result.count; ++i) {
        if (!read[i].ok()) return absl::InternalError(end.queue->ErrorText(read[i]));
      }
      completed += result.count;
    }
  }
  return completed;
}

absl::Status Exchange::Write(std::size_t distance) {
  RETURN_IF_ERROR(Post(distance));
  std::size_t left = nics();
  for (int look = 0; left > 0; ++look) {
    if (look == kMostLooks) {
      return absl::InternalError(absl::StrCat(left, " writes did not complete"));
    }
    world_.timeline().RunFor(kLook);
    ASSIGN_OR_RETURN(const std::size_t completed, Collect());
    left -= completed;
  }
  return absl::OkStatus();
}

}  // namespace drydock::bench
