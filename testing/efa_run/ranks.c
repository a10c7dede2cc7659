// An MPI program that looks at every byte: messages of 0 bytes to 4 MiB between all pairs of ranks,
// a sum, all with all, and windows that ranks write, read and add to. Ends with a line of rank 0:
//
//   right: 4 ranks, Open MPI v4.1.4

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostBytes = 4 << 20, kWindowBytes = 64 << 10 };

static int rank, ranks;

static void Check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

// Byte `at` of what rank `from` says to rank `to`.
static unsigned char Pattern(int from, int to, int at) {
  return (unsigned char)(from * 31 + to * 17 + at * 7 + at / 251);
}

static void Fill(unsigned char* bytes, int from, int to, int size) {
  for (int i = 0; i < size; ++i) bytes[i] = Pattern(from, to, i);
}

static int IsPattern(const unsigned char* bytes, int from, int to, int size) {
  for (int i = 0; i < size; ++i) {
    if (bytes[i] != Pattern(from, to, i)) return 0;
  }
  return 1;
}

static void ExchangeMessages(unsigned char* out, unsigned char* in) {
  static const int kSizes[] = {0, 1, 8, 100, 8192, 65536, 1 << 20, kMostBytes};
  for (int hop = 1; hop < ranks; ++hop) {
    const int to = (rank + hop) % ranks, from = (rank + ranks - hop) % ranks;
    for (size_t i = 0; i < sizeof kSizes / sizeof kSizes[0]; ++i) {
      MPI_Status status;
      int came = -1;
      Fill(out, rank, to, kSizes[i]);
      memset(in, 0, (size_t)kSizes[i]);
      MPI_Sendrecv(out, kSizes[i], MPI_BYTE, to, 7, in, kSizes[i], MPI_BYTE, from, 7,
                   MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &came);
      Check(came == kSizes[i] && IsPattern(in, from, rank, came), "message");
    }
  }
}

static void ReduceAndExchangeAll(unsigned char* out, unsigned char* in) {
  const int each = kMostBytes / ranks;
  long one = rank + 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  Check(sum == (long)ranks * (ranks + 1) / 2, "allreduce");
  for (int to = 0; to < ranks; ++to) Fill(out + to * each, rank, to, each);
  MPI_Alltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from)
    Check(IsPattern(in + from * each, from, rank, each), "alltoall");
}

// A window: its first half is written by the rank to the left, its last word is added to by all.
static void UseWindows(unsigned char* out, unsigned char* in) {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, half = kWindowBytes / 2;
  const MPI_Aint last = kWindowBytes - (MPI_Aint)sizeof(long);
  unsigned char* memory;
  long one = rank + 1, sum = 0;
  MPI_Win window;
  MPI_Win_allocate(kWindowBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, kWindowBytes);
  MPI_Win_fence(0, window);
  Fill(out, rank, right, half);
  MPI_Put(out, half, MPI_BYTE, right, 0, half, MPI_BYTE, window);
  for (int to = 0; to < ranks; ++to)
    MPI_Accumulate(&one, 1, MPI_LONG, to, last, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  memcpy(&sum, memory + last, sizeof sum);
  Check(IsPattern(memory, left, rank, half), "put");
  Check(sum == (long)ranks * (ranks + 1) / 2, "accumulate");
  memset(in, 0, (size_t)half);
  MPI_Get(in, half, MPI_BYTE, right, 0, half, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  Check(IsPattern(in, rank, right, half), "get");
  MPI_Win_free(&window);
}

int main(int count, char** words) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Get_library_version(library, &length);
  unsigned char* out = malloc(kMostBytes);
  unsigned char* in = malloc(kMostBytes);
  memset(out, 0, kMostBytes);
  memset(in, 0, kMostBytes);
  ExchangeMessages(out, in);
  ReduceAndExchangeAll(out, in);
  UseWindows(out, in);
  library[strcspn(library, ",\n")] = '\0';
  if (rank == 0) printf("right: %d ranks, %s\n", ranks, library);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
