// Rules about events that only sim/verbs reports: threads, batches, address handles, events, queues
// at their end, retries in real time. Each is reported here as a driver would, once broken and once
// kept.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/observers.h"
#include "drydock/sim/device/operation_table.h"
#include "drydock/sim/device/posted.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/events/deferred_actions.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

using fabric::OperationKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A NIC with a queue pair and a completion queue, and a program whose world's clock is the
// machine's.
class VerbsRulesTest : public ::testing::Test {
 protected:
  static constexpr std::uint16_t kHandle = 9;

  VerbsRulesTest() {
    checks_.AddTo(observers_);
    checks_.rules().real_time = true;
    checks_.rules().contexts_are_names = false;
    checks_.rules().refused_messages_matter = true;
    checks_.OnFinding([this](const Finding& finding) { heard_.push_back(finding.check); });
    observers_.Tell<&Observer::OnQueueOpened>(*ring_, 0);
    QueuePairAttributes attributes;
    attributes.send_entries = 4;
    attributes.receive_descriptors = 4;
    attributes.send_ring = ring_;
    attributes.receive_ring = ring_;
    auto opened = std::make_unique<QueuePair>(attributes, 4, 1);
    opened->serial = 1;
    opened->number = 3;
    queue_pair_ = opened.get();
    nic_.queue_pairs.Insert(std::move(opened));
    observers_.Tell<&Observer::OnEndpointOpened>(EndpointOpened{.nic = nic_,
                                                                .queue_pair = *queue_pair_,
                                                                .send_depth = 4,
                                                                .receive_depth = 4,
                                                                .immediates_take_receives = false,
                                                                .state_of = {}});
  }

  Posted Message(std::uint64_t context, std::uint64_t length = 64) const {
    Posted posted;
    posted.signalled = true;
    posted.context = fabric::Context{context};
    posted.peer = fabric::Peer{5};
    posted.length = length;
    return posted;
  }
  void Post(std::uint16_t id, const Posted& posted) {
    fabric::efa_queue::SendWork work;
    work.request_id = id;
    work.address_handle = kHandle;
    observers_.Tell<&Observer::OnPosted>(*queue_pair_, work, posted, /*peer=*/1);
  }
  void Report(std::uint16_t id) {
    observers_.Tell<&Observer::OnReported>(
        nic_, *ring_, DeviceCompletion{.request_id = id, .queue_pair = 3}, EntryFate::kWritten);
  }
  void End(std::uint16_t id, EfaStatus status) {
    Report(id);
    observers_.Tell<&Observer::OnCompletionRead>(*queue_pair_, false, id,
                                                 static_cast<std::uint8_t>(status));
  }
  // Their names, once each; what was heard is what is there.
  std::vector<std::string> Found() const {
    std::vector<std::string> names;
    for (const Finding& finding : checks_.findings()) names.emplace_back(Name(finding.check));
    EXPECT_EQ(heard_.size(), names.size());
    return names;
  }
  std::string Said() const {
    return checks_.findings().empty() ? "nothing" : ToText(checks_.findings().front());
  }

  const Profile& profile_ = **FindProfile("small");
  Timeline timeline_{ClockKind::kVirtual};
  DeferredActions deferred_{timeline_};
  OperationTable operations_;
  MemoryBus bus_{timeline_};
  Checks checks_{timeline_, deferred_, operations_, bus_};
  Observers observers_;
  NicState nic_{0, 0, "machine/nic", Gid{}, profile_, RandomStream(1, Subsystem::kKeys, 0, 0)};
  std::shared_ptr<CompletionRing> ring_ = std::make_shared<CompletionRing>(2, 1, 8);
  QueuePair* queue_pair_ = nullptr;
  std::vector<Check> heard_;
};

TEST_F(VerbsRulesTest, TwoThreadsInAQueuePairAndInAQueue) {
  observers_.Tell<&Observer::OnTwoThreads>(nic_, 3, true);
  observers_.Tell<&Observer::OnTwoThreads>(nic_, 3, true);
  EXPECT_THAT(Found(), ElementsAre("one-thread-at-a-time"));
  EXPECT_THAT(Said(), HasSubstr("machine/nic: a thread came into queue pair 3 while"));
  EXPECT_THAT(Said(), HasSubstr("(2 times"));
  observers_.Tell<&Observer::OnTwoThreads>(nic_, 4, false);
  EXPECT_EQ(checks_.findings().size(), 2u);
}

TEST_F(VerbsRulesTest, ABatchThatIsLeft) {
  observers_.Tell<&Observer::OnBatchLeft>(*queue_pair_, 2);
  EXPECT_THAT(Found(), ElementsAre("work-not-rung-for"));
  EXPECT_THAT(Said(), HasSubstr("2 requests were prepared on queue pair 3"));
}

// ---- Address handles ----

TEST_F(VerbsRulesTest, AHandleThatGoesWithARequestInFlight) {
  Post(0, Message(1));
  Post(1, Message(2));
  Report(1);  // the device is done with it
  observers_.Tell<&Observer::OnHandleClosing>(nic_, kHandle);
  EXPECT_THAT(Found(), ElementsAre("address-handle-in-use"));
  EXPECT_THAT(Said(), HasSubstr("address handle 9 was destroyed with 1 request of queue pair 3"));
}

TEST_F(VerbsRulesTest, AHandleThatGoesWhenNothingIsInFlightToItsPeer) {
  Post(0, Message(1));
  observers_.Tell<&Observer::OnHandleClosing>(nic_, kHandle + 1);  // another peer's
  Report(0);
  observers_.Tell<&Observer::OnHandleClosing>(nic_, kHandle);  // before the program reads
  EXPECT_THAT(Found(), IsEmpty());
}

// ---- Messages without a receive ----

TEST_F(VerbsRulesTest, AMessageThatFoundNoReceiveAndIsNotSentAgain) {
  Post(0, Message(1));
  End(0, EfaStatus::kRemoteNotReady);
  Post(1, Message(2, /*length=*/32));  // another one
  End(1, EfaStatus::kOk);
  EXPECT_THAT(Found(), IsEmpty());  // it may still be
  observers_.Tell<&Observer::OnEndpointClosing>(*queue_pair_);
  EXPECT_THAT(Found(), ElementsAre("receiver-not-ready"));
  EXPECT_THAT(Said(), HasSubstr("1 message of queue pair 3 found no receive"));
}

TEST_F(VerbsRulesTest, AMessageThatFoundNoReceiveAndIsSentAgain) {
  Post(0, Message(1));
  End(0, EfaStatus::kRemoteNotReady);
  Post(1, Message(2));  // the same, by another name
  End(1, EfaStatus::kRemoteNotReady);
  Post(2, Message(2, /*length=*/100));  // by its name
  End(2, EfaStatus::kOk);
  checks_.CheckEnd();
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(VerbsRulesTest, AProgramMayMeanToLoseMessages) {
  checks_.rules().refused_messages_matter = false;
  Post(0, Message(1));
  End(0, EfaStatus::kRemoteNotReady);
  observers_.Tell<&Observer::OnEndpointClosing>(*queue_pair_);
  EXPECT_THAT(Found(), IsEmpty());
}

// ---- Queues at their end ----

TEST_F(VerbsRulesTest, AQueueThatNobodyEverRead) {
  observers_.Tell<&Observer::OnQueueClosing>(nic_, *ring_, /*unread=*/true, 0);
  EXPECT_THAT(Found(), ElementsAre("unread-completions"));
  EXPECT_THAT(Said(), HasSubstr("completion queue 2 had completions, and nobody ever looked"));
}

TEST_F(VerbsRulesTest, AQueueThatWasReadOnceMayHaveMore) {
  observers_.Tell<&Observer::OnQueueClosing>(nic_, *ring_, /*unread=*/false, 0);
  observers_.Tell<&Observer::OnPolling>(*ring_);
  observers_.Tell<&Observer::OnQueueClosing>(nic_, *ring_, /*unread=*/true, 0);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(VerbsRulesTest, EventsThatNobodyAcknowledged) {
  observers_.Tell<&Observer::OnPolling>(*ring_);
  observers_.Tell<&Observer::OnQueueClosing>(nic_, *ring_, /*unread=*/false, 3);
  EXPECT_THAT(Found(), ElementsAre("unacknowledged-events"));
  EXPECT_THAT(Said(), HasSubstr("was destroyed with 3 events that the program took and did not"));
}

TEST_F(VerbsRulesTest, AnEventThatWasAcknowledgedTwice) {
  observers_.Tell<&Observer::OnPolling>(*ring_);
  observers_.Tell<&Observer::OnQueueClosing>(nic_, *ring_, /*unread=*/false, ~0u);
  EXPECT_THAT(Found(), ElementsAre("unacknowledged-events"));
  EXPECT_THAT(Said(), HasSubstr("was destroyed with 1 event that the program acknowledged and"));
}

// ---- Again, by the machine's clock ----

TEST_F(VerbsRulesTest, AgainIsAnsweredByPostingForASecond) {
  for (int i = 0; i < 5000; ++i)
    observers_.Tell<&Observer::OnAgain>(nic_, *queue_pair_, Message(1));
  EXPECT_THAT(Found(), IsEmpty());  // in no time: the thread that reads may not have had its turn
  timeline_.RunFor(1s);
  for (int i = 0; i < 1000; ++i)
    observers_.Tell<&Observer::OnAgain>(nic_, *queue_pair_, Message(1));
  EXPECT_THAT(Found(), ElementsAre("again-without-reading"));
}

TEST_F(VerbsRulesTest, AgainIsAnsweredByReadingNowAndThen) {
  for (int second = 0; second < 3; ++second) {
    for (int i = 0; i < 5000; ++i)
      observers_.Tell<&Observer::OnAgain>(nic_, *queue_pair_, Message(1));
    observers_.Tell<&Observer::OnPolling>(*ring_);
    timeline_.RunFor(700ms);
  }
  EXPECT_THAT(Found(), IsEmpty());
}

// A queue that the program maps is read where the checks do not see it.
TEST_F(VerbsRulesTest, AMappedQueueIsNotMissed) {
  const auto other = std::make_shared<CompletionRing>(4, 2, 8);
  observers_.Tell<&Observer::OnQueueOpened>(*other, 0);
  const auto starve = [&](CompletionRing& ring) {
    observers_.Tell<&Observer::OnReported>(nic_, ring, DeviceCompletion{.queue_pair = 100},
                                           EntryFate::kWritten);
    for (int i = 0; i < 2000; ++i) observers_.Tell<&Observer::OnPolling>(*other);
    timeline_.RunFor(6s);
    observers_.Tell<&Observer::OnReported>(nic_, ring, DeviceCompletion{.queue_pair = 100},
                                           EntryFate::kWritten);
  };
  ring_->MapMemory();
  starve(*ring_);
  EXPECT_THAT(Found(), IsEmpty());
  const auto unmapped = std::make_shared<CompletionRing>(5, 3, 8);
  observers_.Tell<&Observer::OnQueueOpened>(*unmapped, 0);
  starve(*unmapped);
  EXPECT_THAT(Found(), ElementsAre("completion-queue-service"));
}

}  // namespace
}  // namespace drydock::sim
