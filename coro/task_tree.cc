#include "coro/task_tree.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coro/live_tasks.h"
#include "coro/wait.h"

namespace coro {
namespace {

using internal::TaskRecord;

// The tasks of this thread: those in its list, oldest first, then those that are known only as what
// another one awaits.
std::vector<const TaskRecord*> AllTasks() {
  std::vector<const TaskRecord*> tasks;
  std::unordered_set<const TaskRecord*> known;
  for (const internal::LiveTask* task = internal::live_tasks; task != nullptr;
       task = task->next()) {
    tasks.push_back(task);
    known.insert(task);
  }
  std::reverse(tasks.begin(), tasks.end());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskRecord* const awaited = tasks[i]->awaited_task();
    if (awaited != nullptr && known.insert(awaited).second) tasks.push_back(awaited);
  }
  return tasks;
}

// The tasks that `task` waits for.
std::vector<const TaskRecord*> ChildrenOf(const TaskRecord& task) {
  if (const TaskRecord* awaited = task.awaited_task()) return {awaited};
  std::vector<const TaskRecord*> children;
  if (const Wait* wait = task.wait()) {
    wait->ForEachTask([&children](const TaskRecord& child) {
      if (child.waits()) children.push_back(&child);
    });
  }
  std::reverse(children.begin(), children.end());  // a latch knows its last task first
  return children;
}

std::string_view BaseName(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? file : file.substr(slash + 1);
}

class TreeWriter {
 public:
  explicit TreeWriter(std::size_t most) : most_(most) {}

  void Write(const TaskRecord& task, std::size_t depth) {
    if (!written_.insert(&task).second) return;
    if (lines_++ < most_) {
      absl::StrAppend(&text_, std::string(2 * depth, ' '), Describe(task), "\n");
    }
    for (const TaskRecord* child : ChildrenOf(task)) Write(*child, depth + 1);
  }

  std::string Take() {
    if (lines_ > most_) absl::StrAppend(&text_, "and ", lines_ - most_, " more\n");
    return std::move(text_);
  }

 private:
  const std::size_t most_;
  std::size_t lines_ = 0;
  std::unordered_set<const TaskRecord*> written_;
  std::string text_;
};

}  // namespace

TaskPlace PlaceOf(const internal::TaskRecord& task) {
  return {task.file(), task.function(), task.line(), task.await_line()};
}

std::string Describe(const TaskPlace& place) {
  const std::string_view file = place.file == nullptr ? "?" : BaseName(place.file);
  std::string text = absl::StrCat(place.function == nullptr ? "?" : place.function, " (",
                                  std::string(file), ":", place.line, ")");
  if (place.await_line != 0) absl::StrAppend(&text, " at line ", place.await_line);
  return text;
}

std::string Describe(const internal::TaskRecord& task) {
  std::string text = Describe(PlaceOf(task));
  if (!task.started()) return absl::StrCat(text, " never awaited");
  if (const Wait* wait = task.wait()) absl::StrAppend(&text, ", waits for ", wait->what());
  if (task.ready()) absl::StrAppend(&text, ", is ready");
  return text;
}

std::string DescribeTasks(std::size_t most) {
  const std::vector<const TaskRecord*> tasks = AllTasks();
  std::unordered_set<const TaskRecord*> awaited;
  for (const TaskRecord* task : tasks) {
    for (const TaskRecord* child : ChildrenOf(*task)) awaited.insert(child);
  }
  TreeWriter writer(most);
  for (const TaskRecord* task : tasks) {
    if (awaited.count(task) == 0) writer.Write(*task, 0);
  }
  return writer.Take();
}

TaskCounts CountTasks() {
  TaskCounts counts;
  for (const TaskRecord* task : AllTasks()) {
    ++counts.live;
    if (!task->started()) ++counts.never_awaited;
  }
  return counts;
}

}  // namespace coro
