#include "drydock/sim/capture/read_capture.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/capture/fields.h"
#include "drydock/sim/capture/node_reader.h"
#include "nlohmann/json.hpp"

namespace drydock::sim::capture {
namespace {

using nlohmann::json;

// An event, its arguments, their lists, and the elements of these.
constexpr int kMostDepth = 8;

constexpr std::size_t kMostDeeds = 4 << 20;

constexpr std::uint64_t kMostNanoseconds = std::uint64_t{86400} * 1'000'000'000;  // a day

absl::Status Invalid(const std::string& file, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", why));
}

// An operation of a machine whose end a device reported into a queue of the program's.
struct End {
  std::uint64_t pid = 0;
  std::uint64_t number = 0;
  fabric::OperationKind kind = fabric::OperationKind::kSend;
};

// A step of a program. Everything else of a trace is looked at once and forgotten.
struct Deed {
  coro::Duration time{};
  coro::Duration took{};
  int rank = 0;  // of the events in one nanosecond
  std::uint64_t number = 0;
  std::uint64_t pid = 0;
  std::string category;
  json args;
};

// Many events of virtual time have the same nanosecond. They are drawn one after the other on each
// track, and tracks know nothing of each other: objects are opened before their use, and closed
// after it.
int RankOf(const std::string& category, const json& args) {
  if (category != "object") return 1;
  return args.value("event", json()) == "open" ? 0 : 2;
}

// Reads one file.
class FileReader {
 public:
  FileReader(const TraceFile& file, std::size_t number, std::vector<std::unique_ptr<Node>>& nodes,
             Totals& totals)
      : file_(file), number_(number), nodes_(nodes), totals_(totals) {}

  absl::StatusOr<std::string> Read();

 private:
  bool Take(int depth, json::parse_event_t event, json& parsed);
  absl::Status TakeEvent(json& event);
  absl::Status TakeEnd(Fields& event);
  absl::Status Perform(const Deed& deed);
  absl::Status Name(const json& event);
  absl::StatusOr<NodeReader*> ReaderOf(std::uint64_t pid);
  absl::StatusOr<std::string> CheckHead(const json& head) const;

  const TraceFile& file_;
  const std::size_t number_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  Totals& totals_;
  std::map<std::uint64_t, std::unique_ptr<NodeReader>> readers_;  // by pid
  std::map<std::uint64_t, std::string> names_;                    // by pid
  std::vector<Deed> deeds_;
  std::vector<End> ends_;
  std::uint64_t events_ = 0;
  bool in_events_ = false;
  absl::Status status_;  // the first mistake
};

absl::StatusOr<std::string> FileReader::Read() {
  json head;
  try {
    head = json::parse(file_.text, [this](int depth, json::parse_event_t event, json& parsed) {
      return Take(depth, event, parsed);
    });
  } catch (const json::exception& error) {
    RETURN_IF_ERROR(status_);
    // Their words begin with "[json.exception.parse_error.101] parse error".
    absl::string_view why = error.what();
    why.remove_prefix(std::min(why.size(), why.find(']') + 2));
    return Invalid(file_.name, absl::StrCat("not JSON: ", Shown(why.substr(0, why.find(": ")))));
  }
  RETURN_IF_ERROR(status_);
  ASSIGN_OR_RETURN(std::string backend, CheckHead(head));
  // In virtual time a look takes none, whatever is drawn.
  if (head["otherData"].value("clock", json()) != "virtual") {
    for (Deed& deed : deeds_) deed.time += deed.took;
  }
  std::stable_sort(deeds_.begin(), deeds_.end(), [](const Deed& a, const Deed& b) {
    return std::pair(a.time, a.rank) < std::pair(b.time, b.rank);
  });
  for (const Deed& deed : deeds_) RETURN_IF_ERROR(Perform(deed));
  for (const End& end : ends_) {
    const auto reader = readers_.find(end.pid);
    if (reader != readers_.end()) reader->second->Ended(end.number, end.kind);
  }
  for (const auto& node : nodes_) {
    if (node->file == number_) node->name = names_[node->pid];
  }
  return backend;
}

// Whether to keep the parsed value.
bool FileReader::Take(int depth, json::parse_event_t event, json& parsed) {
  if (!status_.ok()) return false;
  if (deeds_.size() > kMostDeeds) {
    status_ = Invalid(file_.name, absl::StrCat("more than ", kMostDeeds, " posts and polls"));
    return false;
  }
  if (depth > kMostDepth) {
    status_ = Invalid(file_.name, "not a trace: it is nested too deeply");
    return false;
  }
  if (depth == 1 && event == json::parse_event_t::key) in_events_ = parsed == "traceEvents";
  if (!in_events_ || depth != 2 || event != json::parse_event_t::object_end) return true;
  ++events_;
  status_ = TakeEvent(parsed);
  return false;
}

absl::Status FileReader::TakeEvent(json& event) {
  Fields fields(event, absl::StrCat(file_.name, ": event ", events_));
  const std::string phase = fields.Text("ph");
  RETURN_IF_ERROR(fields.status());
  if (phase == "M") return Name(event);
  if (phase != "X") return absl::OkStatus();  // flows and marks say nothing more
  const std::string category = fields.Text("cat");
  if (category == "completion") return TakeEnd(fields);
  const bool deed = category == "object" || category == "post" || category == "poll";
  if (!deed) return fields.status();
  const std::uint64_t pid = fields.Number("pid");
  const std::int64_t drawn = fields.Microseconds("ts");
  if (fields.ok() && fields.Object("args") == nullptr) fields.Refuse("args", "is missing");
  RETURN_IF_ERROR(fields.status());
  Fields args(event["args"], fields.place());
  // Where it is not drawn when it was.
  const std::uint64_t time = args.Number("at", kMostNanoseconds, static_cast<std::uint64_t>(drawn));
  RETURN_IF_ERROR(args.status());
  // A completion that a poll finds may have come while it looked.
  const bool looked = category == "poll" && fields.Has("dur");
  const std::int64_t took = looked ? std::max<std::int64_t>(fields.Microseconds("dur"), 0) : 0;
  RETURN_IF_ERROR(fields.status());
  const int rank = RankOf(category, event["args"]);
  deeds_.push_back({coro::Duration(static_cast<std::int64_t>(time)), coro::Duration(took), rank,
                    events_, pid, category, std::move(event["args"])});
  return absl::OkStatus();
}

// Of the device's own queues, which a protocol in between reads, nothing is told: no object is 0.
absl::Status FileReader::TakeEnd(Fields& event) {
  const std::uint64_t pid = event.Number("pid");
  const json* found = event.Object("args");
  if (!event.ok() || found == nullptr) return event.status();
  Fields args(*found, event.place());
  const std::uint64_t number = args.Number("op", UINT64_MAX, /*absent=*/0);
  const std::uint64_t node = args.Number("op_node", UINT64_MAX, /*absent=*/UINT64_MAX);
  const std::uint64_t queue = args.Number("queue", UINT64_MAX, /*absent=*/0);
  if (!args.ok() || number == 0 || queue == 0 || pid != node + 1) return args.status();
  const auto kind = KindFromName(args.Has("kind") ? args.Text("kind") : "");
  if (kind.has_value()) ends_.push_back({pid, number, *kind});
  return args.status();
}

absl::Status FileReader::Perform(const Deed& deed) {
  Fields args(deed.args,
              absl::StrCat(file_.name, ": event ", deed.number, " (", deed.category, ")"));
  ASSIGN_OR_RETURN(NodeReader * reader, ReaderOf(deed.pid));
  reader->Read(deed.category, args, deed.time);
  return args.status();
}

absl::Status FileReader::Name(const json& event) {
  Fields fields(event, absl::StrCat(file_.name, ": event ", events_));
  if (!fields.Has("name") || fields.Text("name") != "process_name") return fields.status();
  const std::uint64_t pid = fields.Number("pid");
  const json* args = fields.Object("args");
  if (args == nullptr) return fields.status();
  Fields named(*args, fields.place());
  const std::string name = named.Text("name");
  if (fields.ok() && named.ok() && names_.size() < kMostNodes) names_[pid] = Shown(name);
  return fields.ok() ? named.status() : fields.status();
}

absl::StatusOr<NodeReader*> FileReader::ReaderOf(std::uint64_t pid) {
  const auto found = readers_.find(pid);
  if (found != readers_.end()) return found->second.get();
  if (nodes_.size() >= kMostNodes) {
    return Invalid(file_.name, absl::StrCat("more than ", kMostNodes, " machines"));
  }
  nodes_.push_back(std::make_unique<Node>());
  nodes_.back()->file = number_;
  nodes_.back()->pid = pid;
  return (readers_[pid] = std::make_unique<NodeReader>(*nodes_.back(), totals_)).get();
}

absl::StatusOr<std::string> FileReader::CheckHead(const json& head) const {
  Fields file(head, file_.name);
  const json* other = file.Object("otherData");
  if (!file.ok() || other == nullptr || other->value("format", json()) != "drydock-trace") {
    return Invalid(file_.name, "not a trace of Drydock: no \"otherData\" with its format");
  }
  Fields data(*other, file_.name);
  const std::uint64_t version = data.Number("version");
  const std::uint64_t dropped = data.Number("dropped", UINT64_MAX, /*absent=*/0);
  RETURN_IF_ERROR(data.status());
  if (version != 1) {
    return Invalid(file_.name, absl::StrCat("a trace of version ", version, ": this reads 1"));
  }
  if (dropped > 0) {
    return Invalid(file_.name, absl::StrCat(dropped,
                                            " events did not fit the recorder: a replay "
                                            "needs all of them"));
  }
  const std::string backend = data.Has("backend") ? data.Text("backend") : "";
  RETURN_IF_ERROR(data.status());
  return Shown(backend);
}

bool DoesSomething(const Node& node) { return !node.steps.empty(); }

}  // namespace

absl::StatusOr<TraceFile> LoadTraceFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder"));
  }
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return absl::NotFoundError(absl::StrCat(path, ": cannot be opened"));
  const std::streamoff size = in.tellg();
  if (size < 0) return absl::InvalidArgumentError(absl::StrCat(path, ": is no file"));
  if (static_cast<std::uint64_t>(size) > kMostFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", size, " bytes: at most ", kMostFileBytes));
  }
  TraceFile file{path, std::string(static_cast<std::size_t>(size), '\0')};
  in.seekg(0);
  in.read(file.text.data(), size);
  if (!in) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  return file;
}

absl::StatusOr<Capture> ReadCapture(std::span<const TraceFile> files) {
  Capture capture;
  Totals totals;
  std::vector<std::unique_ptr<Node>> nodes;  // readers point to them
  for (std::size_t i = 0; i < files.size(); ++i) {
    FileReader reader(files[i], i, nodes, totals);
    ASSIGN_OR_RETURN(std::string backend, reader.Read());
    capture.backends.push_back(std::move(backend));
  }
  for (const auto& node : nodes) {
    if (!DoesSomething(*node)) continue;
    std::stable_sort(node->steps.begin(), node->steps.end(),
                     [](const Step& a, const Step& b) { return a.time < b.time; });
    capture.nodes.push_back(std::move(*node));
  }
  if (capture.nodes.empty()) {
    return absl::InvalidArgumentError("the traces hold no machine that did anything");
  }
  capture.left_out.assign(totals.left_out.begin(), totals.left_out.end());
  return capture;
}

}  // namespace drydock::sim::capture
