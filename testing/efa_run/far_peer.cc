// One end of a conversation between two computers, on libfabric's own provider `efa`:
//
//   far_peer                   prints "address HEX", and receives until it is killed
//   far_peer HEX [SECONDS]     sends to it until a send fails, and prints "sent N", then
//                              "failed STATUS after SECONDS": the provider's error, and how long
//                              that send took. With SECONDS: sends so long, and prints "sent N".

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "drydock/fabric/address.h"
#include "drydock/fabric/error.h"
#include "drydock/testing/two_processes/provider_node.h"

namespace drydock::efa_run {
namespace {

using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using two_processes::ProviderNode;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMessageBytes = 4096;
constexpr std::size_t kReceives = 64;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void PostReceive(ProviderNode& node, std::uint64_t number) {
  const fabric::RecvRequest request{
      .buffer = node.region->Local(number * kMessageBytes, kMessageBytes),
      .context = Context{number}};
  if (node.nic.endpoint->Recv(request) != ErrorCode::kOk) std::abort();
}

[[noreturn]] void ReceiveForEver() {
  ProviderNode node(kReceives * kMessageBytes);
  for (std::uint64_t i = 0; i < kReceives; ++i) PostReceive(node, i);
  std::printf("address %s\n", node.nic.endpoint->address().ToHex().c_str());
  std::fflush(stdout);
  while (true) {
    Completion completion;
    if (node.nic.queue->Read({&completion, 1}).count == 1 && completion.ok()) {
      PostReceive(node, static_cast<std::uint64_t>(*completion.context));
    }
  }
}

int SendUntilItFails(const std::string& hex, double seconds) {
  ProviderNode node(kMessageBytes);
  const fabric::Peer peer = node.nic.peers->Insert(fabric::Address::Parse(hex).value()).value();
  const auto begun = Clock::now();
  for (std::uint64_t sent = 0;; ++sent) {
    const auto posted = Clock::now();
    const fabric::SendRequest request{
        .buffer = node.region->Local(0, kMessageBytes), .peer = peer, .context = Context{sent}};
    while (node.nic.endpoint->Send(request) == ErrorCode::kAgain) node.nic.queue->Read({});
    Completion completion;
    while (node.nic.queue->Read({&completion, 1}).count == 0) {
    }
    if (sent == 0) {
      std::printf("begun %d\n", completion.ok());
      std::fflush(stdout);
    }
    if (seconds > 0 && completion.ok() && SecondsSince(begun) < seconds) continue;
    if (seconds == 0 && completion.ok()) continue;
    std::printf("sent %llu\n", static_cast<unsigned long long>(sent));
    if (completion.ok()) return 0;
    std::printf("failed %d after %.1f\n", completion.provider_error, SecondsSince(posted));
    return 1;
  }
}

}  // namespace
}  // namespace drydock::efa_run

int main(int count, char** words) {
  if (count == 1) drydock::efa_run::ReceiveForEver();
  return drydock::efa_run::SendUntilItFails(words[1], count > 2 ? std::atof(words[2]) : 0);
}
