#include "drydock/sim/verbs/testing/mapped_queues.h"

#include <chrono>
#include <thread>

#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;

// Limit of a wait that ends as soon as something is there.
constexpr auto kGuard = std::chrono::seconds(100);

}  // namespace

// ---- A completion queue ----

MappedQueue::MappedQueue(ibv_cq_ex* queue) {
  EXPECT_EQ(sim::verbs::QueryEfaQueue(ibv_cq_ex_to_cq(queue), &attr_, sizeof attr_), 0);
  consumer_ = efa::CompletionConsumer(attr_.num_entries);
}

std::optional<efa::Completion> MappedQueue::Poll() {
  efa::Completion entry;
  const std::uint8_t* slot = attr_.buffer + std::size_t{consumer_.slot()} * attr_.entry_size;
  if (efa::DecodeCompletion(slot, efa::CqeSize::k32, consumer_.phase(), entry) !=
      efa::Malformed::kNone) {
    return std::nullopt;
  }
  consumer_.Pop();
  return entry;
}

std::optional<efa::Completion> MappedQueue::Wait() {
  const auto end = std::chrono::steady_clock::now() + kGuard;
  while (std::chrono::steady_clock::now() < end) {
    if (const auto entry = Poll()) return entry;
    std::this_thread::yield();
  }
  return std::nullopt;
}

// ---- Work rings ----

MappedRings::MappedRings(End& end) : end_(end) {
  EXPECT_EQ(sim::verbs::QueryEfaRings(end.queue_pair, &sends_, &receives_, sizeof sends_), 0);
  send_producer_ = efa::Producer(sends_.num_entries, sends_.max_batch);
  receive_producer_ = efa::Producer(receives_.num_entries, receives_.max_batch);
}

efa::SendWork MappedRings::Work(std::uint16_t number, std::size_t offset, std::uint32_t length) {
  efa::SendWork work;
  work.request_id = number;
  work.segment_count = 1;
  work.segments[0] = {.length = length, .lkey = end_.region->lkey, .address = end_.address(offset)};
  work.qkey = End::kQkey;
  return work;
}

void MappedRings::Write(const efa::SendWork& work) {
  const efa::SendFormat format{.wide = sends_.entry_size == 128};
  efa::EncodeSend(work, format, send_producer_.phase(),
                  sends_.buffer + std::size_t{send_producer_.slot()} * sends_.entry_size);
  send_producer_.Post();
}

void MappedRings::WriteSend(const End& peer, std::uint16_t number, efa::Operation operation,
                            std::size_t offset, std::uint32_t length) {
  efa::SendWork work = Work(number, offset, length);
  work.operation = operation;
  work.address_handle = End::NumberOf(end_.HandleOf(peer));
  work.destination_queue_pair = static_cast<std::uint16_t>(peer.queue_pair->qp_num);
  if (operation == efa::Operation::kWrite) {
    work.has_immediate = true;
    work.immediate = number;
    work.remote = {.length = length, .rkey = peer.region->rkey, .address = peer.address(offset)};
  }
  Write(work);
}

void MappedRings::WriteMessage(std::uint16_t handle, std::uint32_t queue_pair, std::uint16_t number,
                               std::size_t offset, std::uint32_t length) {
  efa::SendWork work = Work(number, offset, length);
  work.operation = efa::Operation::kSend;
  work.address_handle = handle;
  work.destination_queue_pair = static_cast<std::uint16_t>(queue_pair);
  Write(work);
}

void MappedRings::Receive(std::uint16_t number, std::size_t offset, std::uint32_t length) {
  efa::ReceiveWork work{.request_id = number, .segment_count = 1};
  work.segments[0] = {.length = length, .lkey = end_.region->lkey, .address = end_.address(offset)};
  efa::EncodeReceive(work, receives_.buffer, receives_.num_entries, receive_producer_.posted());
  receive_producer_.Post();
  Store(receives_.doorbell, receive_producer_.Ring());
}

}  // namespace drydock::sim_testing
