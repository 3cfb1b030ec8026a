// Thread-local variables: of all kinds, and of the library of C++ (std::call_once). Each rank has its own.
#include <mpi.h>

#include <cstdio>
#include <mutex>

static int rank;
struct Counted {
  int count;
  Counted() : count(100) {}
  ~Counted() { std::printf("%d: destroyed %d\n", rank, count); }
};
thread_local Counted object;
static thread_local int counter = 7;
static thread_local int *to_counter;
thread_local char zeros[5000];
int plain = 3;
thread_local int *to_plain = &plain;
alignas(256) thread_local char aligned_bytes[3];
static std::once_flag flag;

int main(int argc, char **argv) {
  int sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  to_counter = &counter;
  counter += rank;
  object.count += rank;
  zeros[4999] = (char)(zeros[0] + rank);
  *to_plain += rank;
  std::call_once(flag, [] { counter += 1000; });
  MPI_Allreduce(&counter, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("%d: %d of %d, %d %d %d %d\n", rank, *to_counter, sum, object.count, zeros[4999] + zeros[1], plain,
              (int)((unsigned long)aligned_bytes % 256));
  return MPI_Finalize();
}
