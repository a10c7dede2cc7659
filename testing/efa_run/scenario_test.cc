// The same scenarios for the simulated fabric `efa` and for libfabric's own provider on the
// simulated device: what comes of each is printed, one line a fact, and both_agree_test.sh compares
// the two. Nothing is judged here but that a scenario came to its end.

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/cancel.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/testing/contract/contract_test.h"
#include "gtest/gtest.h"

namespace drydock::contract {
namespace {

using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

class Scenario : public ContractTest {
 protected:
  fabric::CompletionQueueOptions QueueOptions() override { return {.source_addresses = true}; }

  // A fact: "OUTCOME Scenario.Name: text".
  static void Note(const std::string& text) {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::printf("OUTCOME %s: %s\n", info->name(), text.c_str());
    std::fflush(stdout);
  }

  // All that a program sees of a completion, but the pointers in it.
  std::string Tell(const Side& side, const std::optional<Completion>& seen) const {
    if (!seen.has_value()) return "none";
    const Completion& completion = *seen;
    std::string text = absl::StrCat("kind ", static_cast<int>(completion.kind), ", error ",
                                    std::string(fabric::Name(completion.error)), ", provider ",
                                    completion.provider_error);
    absl::StrAppend(&text, ", length ", completion.length_bytes, ", context ",
                    completion.context.has_value()
                        ? absl::StrCat(static_cast<std::uint64_t>(*completion.context))
                        : "none");
    if (completion.immediate.has_value()) {
      absl::StrAppend(&text, ", immediate ", *completion.immediate);
    }
    absl::StrAppend(&text, ", tag ", completion.tag);
    if (completion.source != fabric::kNoPeer) {
      absl::StrAppend(&text, ", from ", completion.source == side.peer ? "the peer" : "another");
    }
    return text;
  }

  // Of what must come; its absence fails the scenario.
  void NoteTaken(const char* who, Side& side, std::uint64_t context) {
    Note(absl::StrCat(who, ": ", Tell(side, Take(side, context))));
  }
  void NotePosted(const char* what, ErrorCode posted) {
    Note(absl::StrCat(what, " posted: ", std::string(fabric::Name(posted))));
  }
  void NoteData(std::size_t offset, std::size_t length, std::uint8_t pattern) {
    Note(
        absl::StrCat("data: ", Holds(Bytes(target_, offset, length), pattern) ? "right" : "wrong"));
  }

  void Exchange(std::size_t length, std::size_t room, std::optional<std::uint32_t> immediate) {
    Fill(Bytes(initiator_, 0, length), 3);
    NotePosted("receive", Recv(0, room, 1));
    NotePosted(absl::StrCat("send of ", length).c_str(), Send(0, length, 2, immediate));
    NoteTaken("target", target_, 1);
    NoteTaken("initiator", initiator_, 2);
    if (length <= room) NoteData(0, length, 3);
  }
};

TEST_F(Scenario, MessagesOfEverySize) {
  for (const std::size_t length :
       {0u, 1u, 32u, 33u, 4096u, 8000u, 9000u, 65536u, 100000u, 1000000u}) {
    Exchange(length, length, std::nullopt);
  }
}

TEST_F(Scenario, MessagesWithImmediates) {
  for (const std::size_t length : {0u, 100u, 20000u}) Exchange(length, length, 7);
}

TEST_F(Scenario, MessageIsLongerThanItsReceive) {
  Exchange(1000, 999, std::nullopt);
  Exchange(200000, 1000, std::nullopt);
  Exchange(100, 100, std::nullopt);
}

TEST_F(Scenario, MessageWaitsForItsReceive) {
  Fill(Bytes(initiator_, 0, 500), 5);
  NotePosted("send", Send(0, 500, 2));
  PumpQuietly();
  Note(absl::StrCat("before the receive: ", target_.completions.size(), " at the target"));
  NotePosted("receive", Recv(0, 500, 1));
  NoteTaken("target", target_, 1);
  NoteTaken("initiator", initiator_, 2);
  NoteData(0, 500, 5);
}

TEST_F(Scenario, WritesOfEverySize) {
  std::uint64_t context = 1;
  for (const std::size_t length : {1u, 100u, 8928u, 8929u, 100000u, 900000u}) {
    Fill(Bytes(initiator_, 0, length), static_cast<std::uint8_t>(context));
    NotePosted(absl::StrCat("write of ", length).c_str(),
               Write(0, length, target_.Remote(0), context, 40));
    NoteTaken("initiator", initiator_, context);
    Note(absl::StrCat("target: ", Tell(target_, TakeRemoteWrite(target_))));
    NoteData(0, length, static_cast<std::uint8_t>(context));
    ++context;
  }
}

TEST_F(Scenario, ReadsOfEverySize) {
  for (const std::size_t length : {1u, 8928u, 8929u, 300000u}) {
    Fill(Bytes(target_, 0, length), 9);
    NotePosted(absl::StrCat("read of ", length).c_str(), Read(0, length, target_.Remote(0), 3));
    NoteTaken("initiator", initiator_, 3);
    Note(absl::StrCat("data: ", Holds(Bytes(initiator_, 0, length), 9) ? "right" : "wrong"));
  }
}

TEST_F(Scenario, InjectedMessages) {
  for (const std::size_t length : {1u, 32u, 1000u}) {
    Fill(Bytes(initiator_, 0, length), 6);
    NotePosted("receive", Recv(0, length, 1));
    fabric::SendRequest request = SendOf(0, length, Context{2});
    request.inject = true;
    NotePosted("inject", Post([&] { return initiator_.endpoint->Send(request); }));
    Fill(Bytes(initiator_, 0, length), 1);
    NoteTaken("target", target_, 1);
    NoteTaken("initiator", initiator_, 2);
    NoteData(0, length, 6);
  }
}

TEST_F(Scenario, TaggedMessages) {
  auto* sends = initiator_.endpoint->power<fabric::TaggedMessages>();
  auto* receives = target_.endpoint->power<fabric::TaggedMessages>();
  ASSERT_TRUE(sends != nullptr && receives != nullptr);
  for (const std::uint64_t tag : {5u, 6u}) {
    const fabric::TaggedRecvRequest receive{
        .buffer = target_.Local(1000 * tag, 100), .tag = tag, .context = Context{tag}};
    NotePosted("tagged receive", Post([&] { return receives->RecvTagged({&receive, 1}).error; }));
  }
  for (const std::uint64_t tag : {6u, 5u}) {
    const fabric::TaggedSendRequest send{.buffer = initiator_.Local(0, 100),
                                         .peer = initiator_.peer,
                                         .tag = tag,
                                         .context = Context{10 + tag}};
    NotePosted("tagged send", Post([&] { return sends->SendTagged({&send, 1}).error; }));
  }
  for (const std::uint64_t tag : {5u, 6u}) {
    NoteTaken("target", target_, tag);
    NoteTaken("initiator", initiator_, 10 + tag);
  }
}

TEST_F(Scenario, ReceiveIsCancelled) {
  auto* cancel = target_.endpoint->power<fabric::Cancel>();
  ASSERT_NE(cancel, nullptr);
  NotePosted("receive", Recv(0, 100, 1));
  NotePosted("cancel", cancel->CancelReceive(Context{1}));
  NoteTaken("target", target_, 1);
}

TEST_F(Scenario, PeerHasClosed) {
  Connect();
  target_.endpoint.reset();
  NotePosted("send", Send(0, 100, 1));
  NoteTaken("initiator", initiator_, 1);
}

TEST_F(Scenario, WriteIsRefused) {
  fabric::RemoteBuffer wrong = target_.Remote(0);
  wrong.key ^= 0x155;
  NotePosted("write", Write(0, 100, wrong, 1));
  Note(absl::StrCat("initiator: ", Tell(initiator_, TakeIfAny(initiator_, 1))));
}

// For a fault plan that lets the first message fail: what is told of it, in the provider's own
// words.
class Plan : public Scenario {};

TEST_F(Plan, FirstMessageFails) {
  NotePosted("receive", Recv(0, 100, 1));
  NotePosted("send", Send(0, 100, 2));
  const Completion completion = Take(initiator_, 2);
  Note(absl::StrCat("initiator: ", Tell(initiator_, completion)));
  if (!completion.ok()) Note(absl::StrCat("text: ", initiator_.queue->ErrorText(completion)));
}

// For one that makes receivers not ready again and again: messages arrive all the same.
TEST_F(Plan, EveryMessageArrives) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::size_t length = 1 + i * 97 % 20000;
    Fill(Bytes(initiator_, 0, length), static_cast<std::uint8_t>(i));
    ASSERT_EQ(Recv(0, length, 1), ErrorCode::kOk);
    ASSERT_EQ(Send(0, length, 2), ErrorCode::kOk);
    ASSERT_TRUE(Take(target_, 1).ok()) << i;
    ASSERT_TRUE(Take(initiator_, 2).ok()) << i;
    ASSERT_TRUE(Holds(Bytes(target_, 0, length), static_cast<std::uint8_t>(i))) << i;
  }
  Note("200 messages");
}

// For one that lets a registration of this program's fail: which of the three.
TEST_F(Plan, RegistrationFails) {
  for (int i = 0; i < 3; ++i) {
    const fabric::MemoryRequest request{
        .data = initiator_.memory.data(), .length_bytes = 4096, .access = fabric::Access::kSend};
    const auto region = initiator_.domain->RegisterMemory(request);
    Note(region.ok() ? "registered" : std::string(region.status().message()));
  }
}

}  // namespace
}  // namespace drydock::contract
