// What fi_rma_bw measured on one NIC of a p5.48xlarge, writes, libfabric 2.0.0
// (abcdabcd987/libfabric-efa-demo data/fi_rma_bw.txt).

#ifndef DRYDOCK_TESTING_BENCHMARKS_PUBLISHED_P5_H_
#define DRYDOCK_TESTING_BENCHMARKS_PUBLISHED_P5_H_

#include <array>
#include <cstddef>

namespace drydock::bench {

struct PublishedPoint {
  std::size_t bytes;
  double microseconds;  // of one write
};

inline constexpr auto kPublishedP5 = std::to_array<PublishedPoint>({
    {1, 1.33},         {2, 1.27},         {3, 1.27},         {4, 1.26},         {6, 1.27},
    {8, 1.26},         {12, 1.27},        {16, 1.26},        {24, 1.25},        {32, 1.29},
    {48, 1.24},        {64, 1.23},        {96, 1.24},        {128, 1.24},       {192, 1.23},
    {256, 1.24},       {384, 1.25},       {512, 1.24},       {768, 1.25},       {1024, 1.26},
    {1536, 1.27},      {2048, 1.29},      {3072, 1.31},      {4096, 1.34},      {6144, 1.38},
    {8192, 1.51},      {12288, 1.81},     {16384, 2.07},     {24576, 2.95},     {32768, 3.46},
    {49152, 4.85},     {65536, 6.26},     {98304, 9.03},     {131072, 12.83},   {196608, 17.40},
    {262144, 22.79},   {393216, 38.84},   {524288, 48.77},   {786432, 66.40},   {1048576, 95.60},
    {1572864, 145.12}, {2097152, 205.51}, {3145728, 298.95}, {4194304, 387.39}, {6291456, 547.65},
    {8388608, 798.57},
});

// The points up to here are promised: above, the tool made only 200 writes, and the figures are
// noisy.
inline constexpr std::size_t kPromisedBytes = 768 << 10;

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_PUBLISHED_P5_H_
