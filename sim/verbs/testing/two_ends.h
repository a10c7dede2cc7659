// The fixture of tests between two NICs of a machine.

#ifndef DRYDOCK_SIM_VERBS_TESTING_TWO_ENDS_H_
#define DRYDOCK_SIM_VERBS_TESTING_TWO_ENDS_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "drydock/sim/verbs/testing/end.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {

// Two ends that know each other.
class TrafficTest : public ::testing::Test {
 protected:
  TrafficTest() { Introduce(); }
  void Introduce() {
    a.HandleOf(b);
    b.HandleOf(a);
  }

  // The next completion of a's requests, which has to be of this one and good.
  Entry Sent(std::uint64_t wr_id) {
    const Entry entry = Await(a.send_queue);
    EXPECT_EQ(entry.wr_id, wr_id);
    EXPECT_EQ(entry.status, IBV_WC_SUCCESS) << entry.vendor_error;
    return entry;
  }
  // `count` messages of 8 bytes from a to b arrive, and a knows it; b has looked at nothing.
  void Deliver(int count) {
    for (int i = 0; i < count; ++i) {
      const auto number = static_cast<std::uint64_t>(i);
      ASSERT_EQ(b.Receive(100 + number, {b.Segment(64 * number, 64)}), 0);
      ASSERT_EQ(a.Send(b, number, {a.Segment(0, 8)}, /*immediate=*/7), 0);
    }
    for (int i = 0; i < count; ++i) EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
  }

  End a{{.nic = 0}};
  End b{{.nic = 1}};
};

inline std::span<const std::byte> Bytes(const End& end, std::size_t offset, std::size_t length) {
  return std::span(end.memory).subspan(offset, length);
}

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_VERBS_TESTING_TWO_ENDS_H_
