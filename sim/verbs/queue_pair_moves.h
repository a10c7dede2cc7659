// The moves of a queue pair from state to state, and the attributes that go with each, as the kernel
// driver has them (amzn-drivers kernel/linux/efa/src/efa_verbs.c, srd_qp_state_table and
// efa_modify_qp_validate; for UD linux drivers/infiniband/core/verbs.c, qp_state_table).

#ifndef DRYDOCK_SIM_VERBS_QUEUE_PAIR_MOVES_H_
#define DRYDOCK_SIM_VERBS_QUEUE_PAIR_MOVES_H_

#include <infiniband/verbs.h>

namespace drydock::sim::verbs {

// Whether a call of ibv_modify_qp with these attributes (`mask`: ibv_qp_attr_mask) is allowed for a
// queue pair in state `now`. An errno, or 0. EOPNOTSUPP: attributes or values that EFA does not
// have; EINVAL: there is no such move, it needs an attribute that is missing, or does not take one
// that is there. A call without IBV_QP_STATE is a move from a state to itself.
int CheckMove(ibv_qp_type type, ibv_qp_state now, const ibv_qp_attr& attr, unsigned mask);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_QUEUE_PAIR_MOVES_H_
