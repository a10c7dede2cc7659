// How operations end: with an answer of the target, without one, in silence, or as a fault plan
// wants it. Code that ends an operation, at either NIC, calls one of these.

#ifndef DRYDOCK_SIM_DEVICE_ENDING_H_
#define DRYDOCK_SIM_DEVICE_ENDING_H_

#include <cstdint>

#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/efa_status.h"

namespace drydock::sim {

// The target answers: the operation's initiator hears of it when the answer has come. Nothing more
// is placed from now on. Nothing happens to an operation that was answered before.
void Answer(Surroundings& around, NicState& target, Operation& operation, EfaStatus status);

// The answer of a target in another process has come: it has travelled by that one's draws. As
// Answer otherwise.
void TakeAnswer(Surroundings& around, Operation& operation, std::uint8_t status);

// The initiator's NIC finds the end by itself, without an answer. As Answer otherwise.
void EndUnanswered(Surroundings& around, Operation& operation, EfaStatus status);

// Of a write or a message the target finds the end, of a read the initiator does: the one where
// bytes are placed, `nic`.
void EndWherePlaced(Surroundings& around, NicState& nic, Operation& operation, EfaStatus status);

// All data of a read have been taken from the target's memory: its queue pair counts the read. Of a
// target in another process nothing is counted here.
void CountAtTarget(const Operation& read);

// Its packets or its answer are lost: nothing comes back, and the initiator's patience begins to
// run out. A datagram has ended well: nobody waits for an answer to it.
void FallSilent(Surroundings& around, Operation& operation);

// It fails after a delay. Nothing more is placed from now on.
void FailLater(Surroundings& around, Operation& operation, const Failure& failure);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_ENDING_H_
