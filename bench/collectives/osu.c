/* Twin of apps/osu for SMPI and MPICH: osu TEST BYTES ITERATIONS WARMUP, where TEST is allreduce, alltoall or bcast.
   Prints the mean over ranks and calls in microseconds; a barrier follows each call, as in apps/osu. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv)
{
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 5) {
    if (rank == 0)
      fprintf(stderr, "usage: osu TEST BYTES ITERATIONS WARMUP\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const char* test = argv[1];
  const int bytes = atoi(argv[2]), iterations = atoi(argv[3]), warmup = atoi(argv[4]);
  const size_t blocks = strcmp(test, "alltoall") == 0 ? (size_t)size : 1;
  char* send = calloc(blocks, (size_t)bytes);
  char* receive = calloc(blocks, (size_t)bytes);
  double seconds = 0, sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int iteration = 0; iteration < warmup + iterations; iteration++) {
    const double start = MPI_Wtime();
    if (strcmp(test, "allreduce") == 0)
      MPI_Allreduce(send, receive, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(test, "alltoall") == 0)
      MPI_Alltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else
      MPI_Bcast(send, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (iteration >= warmup)
      seconds += MPI_Wtime() - start;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  seconds /= iterations;
  MPI_Reduce(&seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d %.2f\n", bytes, 1e6 * sum / size);
  free(send);
  free(receive);
  MPI_Finalize();
  return 0;
}
