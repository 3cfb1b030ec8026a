/* Mistakes, selected by the first argument. */

#include <assert.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int endless(int depth) {
  char memory[1000];
  memset(memory, depth, sizeof memory);
  return depth < 0 ? 0 : endless(depth + 1) + memory[3];
}

int main(int argc, char **argv) {
  const char *mistake = argv[1];
  int rank, numbers[10] = {0};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#define IS(name) (strcmp(mistake, name) == 0)
  if (IS("truncated") && rank == 0)
    MPI_Send(numbers, 10, MPI_INT, 1, 7, MPI_COMM_WORLD);
  if (IS("truncated") && rank == 1)
    MPI_Recv(numbers, 5, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (IS("deadlock"))
    MPI_Recv(numbers, 5, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (IS("assert"))
    assert(rank == 0);
  if (IS("status") && rank == 1)
    exit(7);
  while (IS("polling"))
    MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, numbers, MPI_STATUS_IGNORE);
  if (IS("missing"))
    MPI_Open_port(MPI_INFO_NULL, (char *)numbers);
  if (IS("rank"))
    MPI_Send(numbers, 1, MPI_INT, 5, 7, MPI_COMM_WORLD);
  if (IS("stale") && rank == 0) {
    MPI_Isend(numbers, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    MPI_Request copy = request;
    MPI_Request_free(&request);
    MPI_Wait(&copy, MPI_STATUS_IGNORE);
  }
  if (IS("abort") && rank == 1)
    MPI_Abort(MPI_COMM_WORLD, 3);
  if (IS("fault") && rank == 1)
    *(volatile int *)NULL = 1;
  if (IS("recursion") && rank == 1)
    return endless(0);
  if (IS("buffer") && rank == 1)
    MPI_Send((void *)8, 1000, MPI_INT, 0, 7, MPI_COMM_WORLD);
  if (IS("length"))
    MPI_Send_c(numbers, (MPI_Count)1 << 60, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD);
  if (IS("unfinished"))
    return 0;
  MPI_Finalize();
  return 0;
}
