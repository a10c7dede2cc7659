// The knobs of the `efa` fabric, with the defaults of its provider (ofiwg/libfabric
// prov/efa/src/efa_env.c and prov/efa/docs/efa_rdm_protocol_v4.md).

#ifndef DRYDOCK_SIM_RDM_SETTINGS_H_
#define DRYDOCK_SIM_RDM_SETTINGS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "drydock/coro/time.h"

namespace drydock::sim::rdm {

struct Settings {
  // --- Which protocol a message or write takes, by its length in bytes ---
  std::uint64_t medium_bytes = 65536;          // up to here: several packets, sent at once
  std::uint64_t read_message_bytes = 1 << 20;  // from here: the receiver reads
  std::uint64_t read_write_bytes = 65536;      // the same for an emulated write

  // Packets that one clear-to-send grants (FI_EFA_TX_MIN_CREDITS). At least 1.
  std::uint32_t credit_packets = 32;

  // --- Receiver not ready ---
  std::uint32_t receiver_not_ready_retries = 3;  // by the device, before software takes over
  // The first wait is drawn from [least, most), each later one is twice as long, up to the cap.
  coro::Duration backoff_least = std::chrono::microseconds(40);
  coro::Duration backoff_most = std::chrono::microseconds(120);
  coro::Duration backoff_cap = std::chrono::seconds(1);

  // Operations of one endpoint that may wait for handshakes; the next is answered kAgain.
  std::size_t handshake_queue = 16;

  // Messages ahead of the one that is due that the reorder window holds (FI_EFA_RECVWIN_SIZE).
  // Those further ahead are kept as well, and counted.
  std::uint32_t reorder_window = 16384;

  // --- Limits on what peers can make one endpoint hold. The provider has none of them. ---
  // Messages that no receive fits, and their bytes. Packets of further ones keep their receives, so
  // that in the end the device has none left and peers are refused as not ready. One message is
  // always taken, however long.
  std::size_t unexpected_messages = 16384;
  std::uint64_t unexpected_bytes = 64 << 20;
  // Bytes of one peer's packets that came before their turn; 0: 16 MiB, or as many whole packets as
  // the device's queues have entries, if that is more. A packet that was refused as not ready is
  // sent again behind all others of its sender, which may fill a send queue each time. Packets over
  // the limit are dropped, and no later message of the peer gets its turn.
  std::uint64_t early_bytes = 0;
  // Values that one peer's fetching atomics wait for while it takes no packets. Values over the
  // limit are not sent: no honest peer has so many atomics under way.
  std::uint64_t answer_bytes = 64 << 20;
  // Emulated writes and reads of one peer that are under way. Further ones are refused.
  std::size_t served_operations = 16384;
  // Peers that the program did not insert. Packets of further ones are dropped.
  std::size_t strangers = 1024;

  // A closed endpoint tries for so long to tell the peers of its long messages.
  coro::Duration farewell = std::chrono::seconds(1);

  // Receives are posted again when so many are missing (FI_EFA_INTERNAL_RX_REFILL_THRESHOLD).
  std::size_t refill = 8;

  // --- Pools of one endpoint; 0: the depth of the device's queue ---
  std::size_t send_packets = 0;
  std::size_t receive_packets = 0;
  std::size_t operations = 0;  // sends, writes, reads and atomics under way
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_SETTINGS_H_
