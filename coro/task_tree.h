// Lists the tasks of this thread and what each waits for: for a program that hangs, or ends with
// work left.
//
//   Serve (server.cc:41) at line 52, waits for the tasks of its scope
//     Session (server.cc:20) at line 31
//       Next (message_receiver.cc:22) at line 27, waits for a notification
//   Ping (ping.cc:8) never awaited

#ifndef DRYDOCK_CORO_TASK_TREE_H_
#define DRYDOCK_CORO_TASK_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "drydock/coro/live_tasks.h"

namespace drydock::coro {

// Numbers of tasks on a thread.
struct TaskCounts {
  std::size_t live = 0;
  std::size_t never_awaited = 0;  // of these
};

// The live tasks of the calling thread, each below the one that awaits it, in the order in which
// they were made; one a line, with two blanks for each level. `most` lines at most, and then how
// many more there are. May be called at any time, also by a task. Takes time and memory in
// proportion to the number of tasks.
std::string DescribeTasks(std::size_t most = 100);

// Where a task is, for code that outlives it.
struct TaskPlace {
  const char* file = nullptr;
  const char* function = nullptr;
  std::uint32_t line = 0;        // where its body begins
  std::uint32_t await_line = 0;  // the co_await that it came to; 0: none
};
TaskPlace PlaceOf(const internal::TaskRecord& task);
// "Session (server.cc:20) at line 31".
std::string Describe(const TaskPlace& place);

// One task: "Session (server.cc:20) at line 31, waits for a sleep".
std::string Describe(const internal::TaskRecord& task);

// Counts the tasks of the calling thread.
TaskCounts CountTasks();

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_TASK_TREE_H_
