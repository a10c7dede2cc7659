#include "sim/model/published.h"

#include <vector>

namespace sim::model {
namespace {

constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kMiB = 1 << 20;

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

std::vector<PublishedFigure> MakeStaircase() {
  std::vector<PublishedFigure> steps;
  Workload load = Demo();
  load.warm = false;
  steps.push_back({"32 NICs, one thread", "p5", load, 287.089,
                   "abcdabcd987/libfabric-efa-demo src/, program 9"});
  load.warm = true;
  steps.push_back({"connections warmed up", "p5", load, 293.461,
                   "abcdabcd987/libfabric-efa-demo src/, program 10"});
  load.threads = 8;
  load.sharded = false;
  steps.push_back({"a thread for each GPU", "p5", load, 355.301,
                   "abcdabcd987/libfabric-efa-demo src/, program 11"});
  load.pinned = true;
  steps.push_back(
      {"threads pinned", "p5", load, 1237.738, "abcdabcd987/libfabric-efa-demo src/, program 12"});
  load.sharded = true;
  steps.push_back({"state of their own", "p5", load, 1522.567,
                   "abcdabcd987/libfabric-efa-demo src/, program 13"});
  load.burst = 16;
  steps.push_back(
      {"bursts of 16", "p5", load, 2589.488, "abcdabcd987/libfabric-efa-demo src/, program 14"});
  load.lazy = true;
  steps.push_back(
      {"lazy posting", "p5", load, 3108.283, "abcdabcd987/libfabric-efa-demo src/, program 15"});
  return steps;
}

std::vector<PublishedFigure> MakeTransferEngine() {
  constexpr const char* kPaper = "arXiv 2510.27656, table 2";
  std::vector<PublishedFigure> rows;
  Workload single;
  single.nics = 2;
  single.policy = Policy::kSplit;
  single.pattern = Pattern::kSingle;
  const auto add = [&](const char* name, const Workload& like, std::uint64_t bytes, double gbps) {
    Workload load = like;
    load.page_bytes = bytes;
    rows.push_back({name, "p5en", load, gbps, kPaper});
  };
  add("one write of 64 KiB", single, 64 * kKiB, 16);
  add("one write of 256 KiB", single, 256 * kKiB, 54);
  add("one write of 1 MiB", single, kMiB, 145);
  add("one write of 32 MiB", single, 32 * kMiB, 336);
  Workload paged;
  paged.nics = 2;
  paged.window = 256;
  add("pages of 1 KiB", paged, kKiB, 17);
  add("pages of 8 KiB", paged, 8 * kKiB, 138);
  add("pages of 16 KiB", paged, 16 * kKiB, 274);
  add("pages of 64 KiB", paged, 64 * kKiB, 364);
  return rows;
}

std::vector<PublishedFigure> MakeOthers() {
  std::vector<PublishedFigure> rows;
  Workload one = Demo();
  one.nics = one.gpus = 1;
  one.operations = 1'000'000;
  rows.push_back({"1 NIC, a queue of the program's own", "p5", one, 97.433,
                  "abcdabcd987/libfabric-efa-demo src/7_queue.cpp"});
  Workload four;
  four.nics = 4;
  four.page_bytes = 256'000'000;
  four.policy = Policy::kSplit;
  four.pattern = Pattern::kSingle;
  rows.push_back({"4 NICs, one buffer of 256 MB split", "p5", four, 380,
                  "crazyguitar/Libefaxx experiments/README.md"});
  Workload all;
  all.nics = 32;
  all.gpus = 8;
  all.threads = 32;
  all.page_bytes = kMiB;
  all.window = 128;
  rows.push_back({"32 NICs, 32 threads, 128 of 1 MiB each", "p5", all, 8 * 388.9,
                  "kvcache-ai/Mooncake docs/source/design/transfer-engine/efa_transport.md"});
  Workload perftest;
  perftest.bare = true;
  perftest.page_bytes = 8 * kKiB;
  perftest.window = 128;
  rows.push_back({"1 NIC, ib_write_bw", "p5en", perftest, 171.5, "uccl-project/uccl issue 377"});
  return rows;
}

}  // namespace

std::span<const PublishedFigure> Staircase() {
  static const auto& figures = *new std::vector<PublishedFigure>(MakeStaircase());
  return figures;
}

std::span<const PublishedFigure> TransferEngine() {
  static const auto& figures = *new std::vector<PublishedFigure>(MakeTransferEngine());
  return figures;
}

std::span<const PublishedFigure> OtherFigures() {
  static const auto& figures = *new std::vector<PublishedFigure>(MakeOthers());
  return figures;
}

}  // namespace sim::model
