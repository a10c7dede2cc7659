#include "drydock/sim/model/published.h"

#include <cstddef>
#include <vector>

namespace drydock::sim::model {
namespace {

constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr bool kFitted = true;
constexpr bool kChecked = false;

using Figures = std::vector<PublishedFigure>;

// The program of abcdabcd987/libfabric-efa-demo: 8 GPUs with 4 NICs each, 32 million pages.
Workload Demo() {
  Workload load;
  load.nics = 32;
  load.gpus = 8;
  load.threads = 1;
  load.pinned = false;
  load.burst = 1;
  load.lazy = false;
  load.window = 128;
  load.operations = 32'000'000;
  return load;
}

Figures MakeStaircase() {
  Figures steps;
  Workload load = Demo();
  const auto add = [&](const char* name, double gbps, const char* source) {
    steps.push_back({name, "p5", load, gbps, source, kFitted});
  };
  load.warm = false;
  add("32 NICs, one thread", 287.089, "abcdabcd987/libfabric-efa-demo src/, program 9");
  load.warm = true;
  add("connections warmed up", 293.461, "abcdabcd987/libfabric-efa-demo src/, program 10");
  load.threads = 8;
  load.sharded = false;
  add("a thread for each GPU", 355.301, "abcdabcd987/libfabric-efa-demo src/, program 11");
  load.pinned = true;
  add("threads pinned", 1237.738, "abcdabcd987/libfabric-efa-demo src/, program 12");
  load.sharded = true;
  add("state of their own", 1522.567, "abcdabcd987/libfabric-efa-demo src/, program 13");
  load.burst = 16;
  add("bursts of 16", 2589.488, "abcdabcd987/libfabric-efa-demo src/, program 14");
  load.lazy = true;
  add("lazy posting", 3108.283, "abcdabcd987/libfabric-efa-demo src/, program 15");
  return steps;
}

// fi_rma_bw of libfabric's fabtests: writes of one NIC, 64 posted and all awaited.
void AddRmaBandwidth(Figures& figures) {
  const struct {
    const char* name;
    std::uint64_t bytes;
    double microseconds;
    bool fitted;
  } rows[] = {
      {"1 NIC, fi_rma_bw of 64 B", 64, 1.23, kFitted},
      {"1 NIC, fi_rma_bw of 1 KiB", kKiB, 1.26, kFitted},
      {"1 NIC, fi_rma_bw of 4 KiB", 4 * kKiB, 1.34, kChecked},
      {"1 NIC, fi_rma_bw of 8 KiB", 8 * kKiB, 1.51, kChecked},
      {"1 NIC, fi_rma_bw of 16 KiB", 16 * kKiB, 2.07, kFitted},
      {"1 NIC, fi_rma_bw of 64 KiB", 64 * kKiB, 6.26, kFitted},
      {"1 NIC, fi_rma_bw of 256 KiB", 256 * kKiB, 22.79, kFitted},
      {"1 NIC, fi_rma_bw of 768 KiB", 768 * kKiB, 66.40, kFitted},
      {"1 NIC, fi_rma_bw of 1 MiB", kMiB, 95.60, kChecked},
      {"1 NIC, fi_rma_bw of 2 MiB", 2 * kMiB, 205.51, kChecked},
      {"1 NIC, fi_rma_bw of 4 MiB", 4 * kMiB, 387.39, kChecked},
      {"1 NIC, fi_rma_bw of 8 MiB", 8 * kMiB, 798.57, kChecked},
  };
  Workload load;
  load.bare = true;
  load.burst = 1;
  load.pattern = Pattern::kDrained;
  for (const auto& row : rows) {
    load.page_bytes = row.bytes;
    figures.push_back({row.name, "p5", load,
                       static_cast<double>(row.bytes) * 8 / row.microseconds / 1000,
                       "abcdabcd987/libfabric-efa-demo data/fi_rma_bw.txt", row.fitted});
  }
}

// Two NICs of a p5en.48xlarge, for one GPU: one write at a time, and paged writes.
void AddTransferEngine(Figures& figures) {
  constexpr const char* kPaper = "arXiv 2510.27656, table 2";
  const auto add = [&](const char* name, const Workload& like, std::uint64_t bytes, double gbps,
                       bool fitted) {
    Workload load = like;
    load.page_bytes = bytes;
    figures.push_back({name, "p5en", load, gbps, kPaper, fitted});
  };
  Workload single;
  single.nics = 2;
  single.policy = Policy::kSplit;
  single.pattern = Pattern::kSingle;
  add("one write of 64 KiB", single, 64 * kKiB, 16, kFitted);
  add("one write of 256 KiB", single, 256 * kKiB, 54, kFitted);
  add("one write of 1 MiB", single, kMiB, 145, kFitted);
  add("one write of 32 MiB", single, 32 * kMiB, 336, kChecked);
  Workload paged;
  paged.nics = 2;
  paged.window = 256;
  add("pages of 1 KiB", paged, kKiB, 17, kFitted);
  add("pages of 8 KiB", paged, 8 * kKiB, 138, kFitted);
  add("pages of 16 KiB", paged, 16 * kKiB, 274, kFitted);
  add("pages of 64 KiB", paged, 64 * kKiB, 364, kFitted);
}

// A whole machine, written or read by transfer_engine_bench: batches of its threads, each awaited,
// and a thread for each NIC that reads completions.
void AddMooncake(Figures& figures) {
  constexpr const char* kPage =
      "kvcache-ai/Mooncake docs/source/design/transfer-engine/efa_transport.md";
  struct Bench {
    const char* name;
    std::size_t threads;
    std::size_t batch;
    double gbytes_per_s;
    bool fitted = kChecked;
    Direction direction = Direction::kWrite;
    Memory memory = Memory::kGpu;
    const char* source = kPage;
  };
  const auto add = [&](const char* profile, std::size_t nics, std::size_t pollers,
                       const std::vector<Bench>& rows) {
    for (const Bench& row : rows) {
      Workload load;
      load.nics = nics;
      load.gpus = 8;
      load.threads = row.threads;
      load.pollers = pollers;
      load.page_bytes = kMiB;
      load.window = row.threads * row.batch / nics;
      load.burst = 1;
      load.direction = row.direction;
      load.memory = row.memory;
      figures.push_back({row.name, profile, load, row.gbytes_per_s * 8, row.source, row.fitted});
    }
  };
  constexpr Direction kRead = Direction::kRead;
  constexpr Memory kHost = Memory::kHost;
  add("p5", 32, 32,
      {{"whole machine, 32 threads, writes", 32, 128, 388.9},
       {"whole machine, 32 threads, reads", 32, 128, 381.6, kChecked, kRead},
       {"whole machine, writes, another run", 32, 128, 373.94, kChecked, Direction::kWrite,
        Memory::kGpu, "kvcache-ai/Mooncake pull request 3219"},
       {"whole machine, writes of host memory", 32, 128, 64, kFitted, Direction::kWrite, kHost}});
  add("p5en", 16, 16,
      {{"whole machine, 8 threads, writes", 8, 128, 236},
       {"whole machine, 8 threads, reads", 8, 128, 271, kChecked, kRead},
       {"whole machine, 16 threads, writes", 16, 128, 271},
       {"whole machine, 16 threads, reads", 16, 128, 302.5, kFitted, kRead},
       {"whole machine, 32 threads, writes", 32, 64, 342},
       {"whole machine, 32 threads, reads", 32, 64, 274, kFitted, kRead},
       {"whole machine, writes of host memory", 32, 128, 179, kChecked, Direction::kWrite, kHost},
       {"whole machine, reads of host memory", 32, 128, 185, kChecked, kRead, kHost}});
  add("p6-b200", 8, 8,
      {{"whole machine, 16 threads, writes", 16, 128, 302},
       {"whole machine, 16 threads, reads", 16, 128, 313, kChecked, kRead},
       {"whole machine, 32 threads, writes", 32, 64, 290.5},
       {"whole machine, 32 threads, reads", 32, 64, 312, kChecked, kRead},
       {"whole machine, writes of host memory", 32, 128, 222, kFitted, Direction::kWrite, kHost},
       {"whole machine, reads of host memory", 32, 128, 226, kChecked, kRead, kHost}});
  add("p6-b300", 16, 16,
      {{"whole machine, 16 threads, writes", 16, 128, 701},
       {"whole machine, 16 threads, reads", 16, 128, 697, kChecked, kRead},
       {"whole machine, 32 threads, writes", 32, 64, 752},
       {"whole machine, 32 threads, reads", 32, 64, 713, kFitted, kRead},
       {"whole machine, 32 threads, short batches", 32, 32, 751},
       {"whole machine, 64 threads, writes", 64, 32, 728},
       {"whole machine, writes of host memory", 32, 128, 230, kChecked, Direction::kWrite, kHost},
       {"whole machine, reads of host memory", 32, 128, 180, kChecked, kRead, kHost}});
}

// All-to-all of two machines by a bare loop for each GPU, 256 writes of each NIC under way: to the
// GPU of the same place (a rail), or to all GPUs.
void AddAllToAll(Figures& figures) {
  constexpr const char* kPage = "uccl-project/uccl ep/bench/alltoall/efa_alltoall_results.md";
  const auto add = [&](const char* name, const char* profile, std::size_t nics, Route route,
                       std::uint64_t bytes, double gbytes_per_s, bool fitted = kChecked) {
    Workload load;
    load.nics = nics;
    load.gpus = load.threads = 8;
    load.bare = true;
    load.burst = 1;
    load.window = 256;
    load.page_bytes = bytes;
    load.route = route;
    figures.push_back({name, profile, load, gbytes_per_s * 8 * 8, kPage, fitted});
  };
  const struct {
    const char* aligned;
    const char* crossing;
    std::uint64_t kib;
    double aligned_gbytes_per_s;  // of a GPU
    double crossing_gbytes_per_s;
  } rows[] = {
      {"rails, 8 KiB", "all GPUs, 8 KiB", 8, 13.8, 6.1},
      {"rails, 16 KiB", "all GPUs, 16 KiB", 16, 21.1, 8.6},
      {"rails, 32 KiB", "all GPUs, 32 KiB", 32, 35.6, 14.1},
      {"rails, 64 KiB", "all GPUs, 64 KiB", 64, 36.9, 15.6},
      {"rails, 128 KiB", "all GPUs, 128 KiB", 128, 41.6, 15.7},
      {"rails, 256 KiB", "all GPUs, 256 KiB", 256, 41.9, 15.3},
      {"rails, 512 KiB", "all GPUs, 512 KiB", 512, 43.2, 17.9},
      {"rails, 1 MiB", "all GPUs, 1 MiB", 1024, 43.5, 19.0},
      {"rails, 2 MiB", "all GPUs, 2 MiB", 2048, 43.4, 19.9},
      {"rails, 4 MiB", "all GPUs, 4 MiB", 4096, 43.7, 20.1},
  };
  for (const auto& row : rows) {
    const bool fitted = row.kib == 4096;
    add(row.aligned, "p5", 32, Route::kAligned, row.kib * kKiB, row.aligned_gbytes_per_s);
    add(row.crossing, "p5", 32, Route::kCrossing, row.kib * kKiB, row.crossing_gbytes_per_s,
        fitted);
  }
  add("rails, 8 KiB", "p5en", 16, Route::kAligned, 8 * kKiB, 15.673);
  add("all GPUs, 8 KiB, at random", "p5en", 16, Route::kCrossing, 8 * kKiB, 9.930);
  add("all GPUs, 8 KiB, in one order", "p5en", 16, Route::kCrossing, 8 * kKiB, 6.168);
}

void AddOthers(Figures& figures) {
  Workload one = Demo();
  one.nics = one.gpus = 1;
  one.operations = 1'000'000;
  figures.push_back({"1 NIC, a queue of the program's own", "p5", one, 97.433,
                     "abcdabcd987/libfabric-efa-demo src/7_queue.cpp", kFitted});
  Workload four;
  four.nics = 4;
  four.page_bytes = 256'000'000;
  four.policy = Policy::kSplit;
  four.pattern = Pattern::kSingle;
  figures.push_back({"4 NICs, one buffer of 256 MB split", "p5", four, 380,
                     "crazyguitar/Libefaxx experiments/README.md", kChecked});
  Workload loopback;
  loopback.page_bytes = kMiB;
  loopback.route = Route::kLoopback;
  constexpr double kGibibytes = 1.2 * 1024 * 1024 * 1024;
  figures.push_back({"1 NIC, to itself", "p5", loopback, kGibibytes * 8 / 0.830 / 1e9,
                     "kvcache-ai/Mooncake docs/source/design/transfer-engine/efa_transport.md",
                     kFitted});
  Workload perftest;
  perftest.bare = true;
  perftest.page_bytes = 8 * kKiB;
  perftest.window = 128;
  figures.push_back(
      {"1 NIC, ib_write_bw", "p5en", perftest, 171.5, "uccl-project/uccl issue 377", kFitted});
  figures.push_back({"1 NIC, ib_write_bw, another NIC", "p5en", perftest, 132.2,
                     "uccl-project/uccl issue 377", kChecked});
}

}  // namespace

std::span<const PublishedFigure> Staircase() {
  static const auto& figures = *new Figures(MakeStaircase());
  return figures;
}

std::span<const PublishedFigure> PublishedFigures() {
  static const auto& figures = *[] {
    auto* all = new Figures(MakeStaircase());
    AddOthers(*all);
    AddRmaBandwidth(*all);
    AddTransferEngine(*all);
    AddMooncake(*all);
    AddAllToAll(*all);
    return all;
  }();
  return figures;
}

}  // namespace drydock::sim::model
