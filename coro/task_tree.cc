#include "drydock/coro/task_tree.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/live_tasks.h"
#include "drydock/coro/wait.h"

namespace drydock::coro {
namespace {

using internal::TaskRecord;

// The tasks of this thread.
struct Tasks {
  std::vector<const TaskRecord*> all;  // those in its list, oldest first, then the calls
  std::unordered_set<const TaskRecord*> known;
};

Tasks AllTasks() {
  Tasks tasks;
  for (const internal::LiveTask* task = internal::live_tasks; task != nullptr;
       task = task->next()) {
    tasks.all.push_back(task);
    tasks.known.insert(task);
  }
  std::reverse(tasks.all.begin(), tasks.all.end());
  for (std::size_t i = 0; i < tasks.all.size(); ++i) {
    if (!tasks.all[i]->awaits_call()) continue;
    const TaskRecord* const call = tasks.all[i]->awaited_task();
    if (tasks.known.insert(call).second) tasks.all.push_back(call);
  }
  return tasks;
}

// The tasks that `task` waits for. (One that is being destroyed may have lost the one that it
// awaited.)
std::vector<const TaskRecord*> ChildrenOf(const TaskRecord& task, const Tasks& tasks) {
  if (const TaskRecord* awaited = task.awaited_task()) {
    if (tasks.known.count(awaited) == 0) return {};
    return {awaited};
  }
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
  TreeWriter(const Tasks& tasks, std::size_t most) : tasks_(tasks), most_(most) {}

  void Write(const TaskRecord& task, std::size_t depth) {
    if (!written_.insert(&task).second) return;
    if (lines_++ < most_) {
      absl::StrAppend(&text_, std::string(2 * depth, ' '), Describe(task), "\n");
    }
    for (const TaskRecord* child : ChildrenOf(task, tasks_)) Write(*child, depth + 1);
  }

  std::string Take() {
    if (lines_ > most_) absl::StrAppend(&text_, "and ", lines_ - most_, " more\n");
    return std::move(text_);
  }

 private:
  const Tasks& tasks_;
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
  const Tasks tasks = AllTasks();
  std::unordered_set<const TaskRecord*> awaited;
  for (const TaskRecord* task : tasks.all) {
    for (const TaskRecord* child : ChildrenOf(*task, tasks)) awaited.insert(child);
  }
  TreeWriter writer(tasks, most);
  for (const TaskRecord* task : tasks.all) {
    if (awaited.count(task) == 0) writer.Write(*task, 0);
  }
  return writer.Take();
}

TaskCounts CountTasks() {
  TaskCounts counts;
  for (const TaskRecord* task : AllTasks().all) {
    ++counts.live;
    if (!task->started()) ++counts.never_awaited;
  }
  return counts;
}

}  // namespace drydock::coro
