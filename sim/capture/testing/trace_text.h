// Writes traces by hand, for tests: two machines with a NIC, a queue, an address vector, an
// endpoint and a region each, that know each other; then the events that a test wants.

#ifndef DRYDOCK_SIM_CAPTURE_TESTING_TRACE_TEXT_H_
#define DRYDOCK_SIM_CAPTURE_TESTING_TRACE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace drydock::sim::capture {

class TraceText {
 public:
  static constexpr std::uint64_t kRegionBytes = 65536;

  // Ids of machine m's objects: NIC 10m, queue 10m+1, address vector 10m+2, endpoint 10m+3, region
  // 10m+4, peer 10m+5. `machines`: which of 1 and 2 are in this file.
  explicit TraceText(std::vector<int> machines = {1, 2}) {
    for (const int m : machines) {
      Line(absl::StrFormat(R"({"name":"process_name","ph":"M","pid":%d,"args":{"name":"node %d"}})",
                           m, m));
      Open(m, 0, "nic", 10 * m, R"("name":"eth0")");
      Open(m, 0, "completion queue", 10 * m + 1, R"("nic":"eth0")");
      Open(m, 0, "address vector", 10 * m + 2, R"("nic":"eth0")");
      Open(m, 0, "endpoint", 10 * m + 3,
           absl::StrFormat(R"("nic":"eth0","type":"reliable","address":"%s","send_queue":%d,)"
                           R"("receive_queue":%d,"address_vector":%d)",
                           Address(m), 10 * m + 1, 10 * m + 1, 10 * m + 2));
      Region(m, 10 * m + 4, kRegionBytes);
    }
    for (const int m : machines) {
      Open(m, 1, "peer", 10 * m + 5,
           absl::StrFormat(R"("address_vector":%d,"peer":0,"address":"%s")", 10 * m + 2,
                           Address(3 - m)));
    }
  }

  static std::string Address(int machine) { return absl::StrFormat("0a0000%02x", machine); }
  // Where peers find the region of a machine, and the key.
  static std::uint64_t Remote(int machine) { return 0x7f0000000000u + 0x1000000u * machine; }
  static std::uint64_t Key(int machine) { return 0xc0ffee00u + machine; }

  void Line(std::string line) { lines_.push_back(std::move(line)); }
  void Slice(int machine, double us, const std::string& category, const std::string& args) {
    Line(absl::StrFormat(R"({"name":"x","cat":"%s","ph":"X","ts":%.3f,"dur":0.001,"pid":%d,)"
                         R"("tid":1,"args":{%s}})",
                         category, us, machine, args));
  }
  void Open(int machine, double us, const std::string& object, int id, const std::string& args) {
    Slice(machine, us, "object",
          absl::StrFormat(R"("event":"open","object":"%s","id":%d,%s)", object, id, args));
  }
  void Close(int machine, double us, const std::string& object, int id,
             const std::string& more = "") {
    Slice(machine, us, "object",
          absl::StrFormat(R"("event":"close","object":"%s","id":%d%s)", object, id, more));
  }
  void Region(int machine, int id, std::uint64_t bytes, double us = 0,
              const std::string& more = "") {
    Open(machine, us, "region", id,
         absl::StrFormat(
             R"("nic":"eth0","length":%d,"memory":"0x%x","address":"0x%x","key":"0x%x"%s)", bytes,
             Remote(machine), Remote(machine), Key(machine), more));
  }
  // A post by a machine's endpoint, of bytes of its region. `more` begins with a comma.
  void Post(int machine, double us, int op, const std::string& kind, std::uint64_t offset,
            std::uint64_t length, const std::string& more = "") {
    Slice(machine, us, "post",
          absl::StrFormat(R"("op":%d,"kind":"%s","endpoint":%d,"segments":[{"region":%d,)"
                          R"("offset":%d,"length":%d}],"result":"accepted"%s%s)",
                          op, kind, 10 * machine + 3, 10 * machine + 4, offset, length,
                          absl::StrContains(kind, "receive") ? "" : R"(,"peer":0)", more));
  }
  // The rest of a write or read: a place in the other machine's region.
  static std::string At(int target, std::uint64_t offset) {
    return absl::StrFormat(R"(,"remote":{"address":"0x%x","key":"0x%x"})", Remote(target) + offset,
                           Key(target));
  }
  static std::string Data(const std::string& bytes) {
    return absl::StrCat(R"(,"data":")", absl::Base64Escape(bytes), "\"");
  }
  void Poll(int machine, double us, const std::vector<int>& ops,
            std::vector<std::string> statuses = {}, const std::string& more = "") {
    statuses.resize(ops.size(), "ok");
    Slice(machine, us, "poll",
          absl::StrFormat(R"("queue":%d,"count":%d,"ops":[%s],"statuses":["%s"]%s)",
                          10 * machine + 1, ops.size(), absl::StrJoin(ops, ","),
                          absl::StrJoin(statuses, R"(",")"), more));
  }

  std::string Text(const std::string& other = R"("dropped":0)") const {
    return absl::StrCat(R"({"otherData":{"format":"drydock-trace","version":1,)",
                        R"("program":"test","backend":"by hand",)", other,
                        "},\n\"traceEvents\":[\n", absl::StrJoin(lines_, ",\n"), "\n]}\n");
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_TESTING_TRACE_TEXT_H_
