// The blocks of one server, and the calls that it answers.

#ifndef DRYDOCK_APPS_BLOCKS_STORE_H_
#define DRYDOCK_APPS_BLOCKS_STORE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/status/statusor.h"
#include "drydock/coro/mutex.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/request_channel.h"

namespace drydock::apps::blocks {

inline constexpr std::size_t kWords = 64;
using Words = std::array<std::uint64_t, kWords>;

// The payloads of the calls. The numbers in them are little-endian, as in the
// machine.
struct ReadBlock {
  static constexpr std::uint32_t kMessageType = 1;
  std::uint64_t block = 0;
};
// The response to a read, and the request of a write.
struct BlockData {
  static constexpr std::uint32_t kMessageType = 2;
  std::uint64_t block = 0;
  std::uint64_t version = 0;
  Words words{};
};
struct Written {
  static constexpr std::uint32_t kMessageType = 3;
  std::uint64_t version = 0;
};

// What a block holds in a version: every word tells both.
Words WordsOf(std::uint64_t block, std::uint64_t version);

// Blocks of version 0. Not thread-safe; outlives the server that it answers
// for.
class Store {
 public:
  // `service`: how long half of a read or write takes.
  Store(std::size_t blocks, coro::Duration service);

  // Its functions answer ReadBlock and BlockData.
  void Answer(fabric::async::RequestServer& server);

  // kOutOfRange: there is no such block.
  coro::Task<absl::StatusOr<BlockData>> Read(ReadBlock request);
  // The same, and kFailedPrecondition: the block is at that version or at a
  // later one.
  coro::Task<absl::StatusOr<Written>> Write(BlockData data);

 private:
  struct Block {
    coro::Mutex mutex;  // held for a whole read or write, which suspend in the middle
    std::uint64_t version = 0;
    Words words{};
  };

  absl::StatusOr<Block*> Find(std::uint64_t number);

  const coro::Duration service_;
  std::deque<Block> blocks_;  // they do not move
};

}  // namespace drydock::apps::blocks

#endif  // DRYDOCK_APPS_BLOCKS_STORE_H_
