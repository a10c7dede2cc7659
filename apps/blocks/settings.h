// How a run is set up, and what came of it.

#ifndef DRYDOCK_APPS_BLOCKS_SETTINGS_H_
#define DRYDOCK_APPS_BLOCKS_SETTINGS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "drydock/coro/time.h"

namespace drydock::apps::blocks {

inline constexpr std::size_t kServers = 2;  // that hold the same blocks

struct Settings {
  std::string profile = "small";
  std::uint64_t seed = 1;
  std::size_t clients = 4;
  std::size_t blocks = 64;
  std::uint64_t rounds = 4;
  std::size_t window = 8;                                 // calls of a client under way
  coro::Duration service = std::chrono::microseconds(2);  // of half a block, at a server
  coro::Duration hedge = std::chrono::microseconds(80);   // until the other server is asked, too
  coro::Duration timeout = std::chrono::seconds(10);      // of the whole run
};

// What a client has done.
struct Tally {
  std::uint64_t writes = 0;
  std::uint64_t reads = 0;
  std::uint64_t hedged = 0;      // reads for which the other server was asked as well
  std::uint64_t second_won = 0;  // of these, answered by it first
  std::uint64_t late = 0;        // answers to calls that had ended
  std::uint64_t wrong = 0;       // reads of another version, or of two at once
};

struct Report {
  Tally total;
  std::uint64_t records = 0;  // that the collector has got
  coro::Duration elapsed{};   // in virtual time
};

}  // namespace drydock::apps::blocks

#endif  // DRYDOCK_APPS_BLOCKS_SETTINGS_H_
