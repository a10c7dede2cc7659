#include "drydock/sim/hosts/testing/victim.h"

#include <cstdint>

#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/operation.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {

sim::Message SoundWrite(const Station& victim) {
  sim::Message message;
  message.type = sim::MessageType::kPacket;
  message.kind = static_cast<std::uint8_t>(fabric::OperationKind::kWrite);
  message.operation = 1;
  message.place = sim::PayloadPlace::kMessage;
  message.payload_bytes = 64;
  message.length = 64;
  message.packet_bytes = StationProfile().device.mtu;
  message.remote_address = victim.address().memory;
  message.remote_key = victim.address().key;
  message.destination_queue_pair = victim.address().queue_pair;
  message.destination_qkey = victim.address().qkey;
  return message;
}

void ExpectUnharmed(Station& victim, const StationOptions& options) {
  Station other(options);
  victim.Introduce(other.address().gid);
  other.Fill(0, 50000, 3);
  const std::uint16_t written = other.Post(
      victim.address(),
      {.operation = fabric::efa_queue::Operation::kWrite, .remote = 4096, .length = 50000});
  EXPECT_EQ(other.StatusOf(written), 0);
  EXPECT_TRUE(victim.Holds(4096, 50000, 3));
}

}  // namespace drydock::sim_testing
