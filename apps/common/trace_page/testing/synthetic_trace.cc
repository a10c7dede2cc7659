// Writes a trace of any size for tests of the page: two machines, one of which writes pages into
// eight buffers of the other, in the format of docs/trace-format.md. The same arguments give the
// same bytes.
//
//   synthetic_trace EVENTS

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kRegions = 8;
constexpr int kPageBytes = 4096;

// A sequence of scattered numbers; how they are made does not matter.
class Scatter {
 public:
  std::uint64_t Below(std::uint64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

struct Place {
  int pid;
  int tid;
};

constexpr Place kSendQueue = {1, 2}, kWire = {1, 3}, kCompletions = {1, 5}, kProgram = {1, 1},
                kMemory = {2, 4};

class Writer {
 public:
  void Name(int pid, int tid, const char* what, const char* name) {
    std::printf(
        "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}},\n", what,
        pid, tid, name);
  }

  void Slice(const char* name, const char* category, Place place, std::uint64_t ns,
             std::uint64_t duration) {
    std::printf("%s{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%" PRIu64 ".%03" PRIu64
                ",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"pid\":%d,\"tid\":%d,\"args\":{",
                written_ == 0 ? "" : ",\n", name, category, ns / 1000, ns % 1000, duration / 1000,
                duration % 1000, place.pid, place.tid);
    ++written_;
  }

  void Flow(const char* phase, Place place, std::uint64_t ns, std::uint64_t operation) {
    std::printf(",\n{\"name\":\"operation\",\"cat\":\"flow\",\"ph\":\"%s\",%s\"ts\":%" PRIu64
                ".%03" PRIu64 ",\"pid\":%d,\"tid\":%d,\"id\":\"0.%" PRIu64 "\"}",
                phase, phase[0] == 'f' ? "\"bp\":\"e\"," : "", ns / 1000, ns % 1000, place.pid,
                place.tid, operation);
  }

  std::uint64_t written() const { return written_; }

 private:
  std::uint64_t written_ = 0;
};

void NameTracks(Writer& writer) {
  writer.Name(1, 0, "process_name", "node 0: server");
  writer.Name(2, 0, "process_name", "node 1: client");
  writer.Name(1, 1, "thread_name", "program");
  writer.Name(1, 2, "thread_name", "rdma0 endpoint 1 send queue");
  writer.Name(1, 3, "thread_name", "rdma0 wire");
  writer.Name(1, 5, "thread_name", "rdma0 completion queue 2");
  writer.Name(2, 4, "thread_name", "rdma0 memory");
}

// All of one write: six events.
void WritePage(Writer& writer, Scatter& scatter, std::uint64_t operation, std::uint64_t ns) {
  const std::uint64_t page = operation / kRegions * kPageBytes;
  const std::uint64_t region = operation % kRegions;
  const auto op = static_cast<unsigned long long>(operation);
  std::uint64_t at = ns;
  writer.Slice("write 4096 B", "post", kSendQueue, at, 60);
  std::printf(
      "\"op\":%llu,\"kind\":\"write\",\"bytes\":%d,\"endpoint\":1,\"peer\":0,\"imm\":%llu,"
      "\"remote\":{\"address\":\"0x%llx\",\"key\":\"0x7\"},\"result\":\"accepted\"}}",
      op, kPageBytes, op % 65536, 0x10000ull + page);
  writer.Flow("s", kSendQueue, at, operation);
  at += 80 + scatter.Below(200);
  const bool lost = scatter.Below(500) == 0;
  writer.Slice("packet", "packet", kWire, at, 40);
  std::printf(
      "\"op\":%llu,\"node_from\":0,\"node_to\":1,\"bytes\":%d,\"packet\":0,\"fate\":\"%s\"}}", op,
      kPageBytes, lost ? "retransmitted" : "arrives");
  writer.Flow("t", kWire, at, operation);
  at += 400 + scatter.Below(900) + (lost ? 5000 : 0);
  writer.Slice("place 4096 B", "place", kMemory, at, 20);
  std::printf("\"op\":%llu,\"op_node\":0,\"region\":%llu,\"offset\":%llu,\"bytes\":%d}}", op,
              static_cast<unsigned long long>(10 + region), static_cast<unsigned long long>(page),
              kPageBytes);
  writer.Flow("t", kMemory, at, operation);
  at += 500 + scatter.Below(300);
  writer.Slice("write ok", "completion", kCompletions, at, 20);
  std::printf("\"op\":%llu,\"queue\":2,\"kind\":\"write\",\"status\":\"ok\",\"length\":%d}}", op,
              kPageBytes);
  writer.Flow("t", kCompletions, at, operation);
  at += 60;
  writer.Slice("poll 1", "poll", kCompletions, at, 30);
  std::printf("\"queue\":2,\"count\":1,\"ops\":[%llu],\"statuses\":[\"ok\"]}}", op);
  writer.Flow("t", kCompletions, at, operation);
  at += 30;
  writer.Slice("resume", "resume", kProgram, at, 50);
  std::printf("\"op\":%llu}}", op);
  writer.Flow("f", kProgram, at, operation);
}

void WriteTrace(std::uint64_t events) {
  Writer writer;
  Scatter scatter;
  std::printf(
      "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"format\":\"drydock-trace\",\"version\":1,"
      "\"program\":\"synthetic\",\"backend\":\"none: made for a test\",\"clock\":\"virtual\","
      "\"simulated\":true,\"seed\":1,\"events\":%" PRIu64
      ",\"dropped\":0},\n"
      "\"traceEvents\":[\n",
      events);
  NameTracks(writer);
  std::uint64_t ns = 0;
  for (std::uint64_t operation = 1; writer.written() + 6 <= events; ++operation) {
    ns += 150 + scatter.Below(100) + (operation % 4096 == 0 ? 80000 : 0);
    WritePage(writer, scatter, operation, ns);
  }
  while (writer.written() < events) {
    writer.Slice("resume", "resume", kProgram, ns + 20000 + writer.written(), 1);
    std::printf("}}");
  }
  std::printf("\n]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const long long events = argc == 2 ? std::atoll(argv[1]) : 0;
  if (events < 1) {
    std::fputs("synthetic_trace: say how many events\n", stderr);
    return 2;
  }
  WriteTrace(static_cast<std::uint64_t>(events));
  return std::fflush(stdout) == 0 ? 0 : 1;
}
