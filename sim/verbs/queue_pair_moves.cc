#include "drydock/sim/verbs/queue_pair_moves.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "drydock/sim/verbs/refusal.h"

namespace drydock::sim::verbs {
namespace {

struct MoveOf {
  ibv_qp_state from;
  ibv_qp_state to;
  unsigned needed;   // attributes beside the state
  unsigned allowed;  // the same, that may be there
};

constexpr unsigned kIdentity = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr unsigned kAgain = IBV_QP_CUR_STATE | IBV_QP_QKEY;

// Those to RESET and ERR are not here.
constexpr std::array kMoves = {
    MoveOf{IBV_QPS_RESET, IBV_QPS_INIT, kIdentity, 0},
    MoveOf{IBV_QPS_INIT, IBV_QPS_INIT, 0, kIdentity},
    MoveOf{IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    MoveOf{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, kAgain | IBV_QP_RNR_RETRY},
    MoveOf{IBV_QPS_RTS, IBV_QPS_RTS, 0, kAgain},
    MoveOf{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    MoveOf{IBV_QPS_SQD, IBV_QPS_RTS, 0, kAgain},
    MoveOf{IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
};

constexpr unsigned kSupported = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY |
                                IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_SQ_PSN |
                                IBV_QP_RNR_RETRY;

bool IsLegal(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, unsigned attributes) {
  // From each state; to ERR from each but RESET. They take no attribute.
  if (to == IBV_QPS_RESET) return attributes == 0;
  if (to == IBV_QPS_ERR) return attributes == 0 && from != IBV_QPS_RESET;
  const auto* const move = std::find_if(kMoves.begin(), kMoves.end(), [&](const MoveOf& each) {
    return each.from == from && each.to == to;
  });
  if (move == kMoves.end()) return false;
  const bool datagram = type == IBV_QPT_UD;  // which has no retries
  const unsigned allowed = move->allowed & ~(datagram ? unsigned{IBV_QP_RNR_RETRY} : 0u);
  return (attributes & move->needed) == move->needed &&
         (attributes & ~(move->needed | allowed)) == 0;
}

}  // namespace

int CheckMove(ibv_qp_type type, ibv_qp_state now, const ibv_qp_attr& attr, unsigned mask) {
  if ((mask & ~kSupported) != 0) {
    return Refuse(
        "ibv_modify_qp: attributes that EFA does not have (access rights, paths, "
        "time-outs...)");
  }
  // Before the driver sees it: linux-rdma drivers/infiniband/core/uverbs_cmd.c, modify_qp.
  if ((mask & IBV_QP_PORT) != 0 && attr.port_num != 1) return EINVAL;
  // The kernel takes the program's word for the current state; the device would not.
  if ((mask & IBV_QP_CUR_STATE) != 0 && attr.cur_qp_state != now) return EINVAL;
  const ibv_qp_state next = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : now;
  if (!IsLegal(type, now, next, mask & ~unsigned{IBV_QP_STATE})) return EINVAL;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && attr.pkey_index != 0) {
    return Refuse("ibv_modify_qp: another partition key than that of index 0");
  }
  return 0;
}

}  // namespace drydock::sim::verbs
