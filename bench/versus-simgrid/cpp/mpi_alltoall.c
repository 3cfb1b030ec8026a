/* Every rank posts a receive from and a send to every other rank, 1 KiB each, all at once, and waits for all. */
#include "mpi_usage.h"

int main(int argc, char** argv)
{
  static char block[1024];
  int rank, size;
  const int rounds = atoi(argv[1]);
  MPI_Init(&argc, &argv);
  begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * size);
  for (int round = 0; round < rounds; round++) {
    int count = 0;
    for (int distance = 1; distance < size; distance++)
      MPI_Irecv(block, 1024, MPI_BYTE, (rank + size - distance) % size, 0, MPI_COMM_WORLD, &requests[count++]);
    for (int distance = 1; distance < size; distance++)
      MPI_Isend(block, 1024, MPI_BYTE, (rank + distance) % size, 0, MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
  free(requests);
  end(size, (double)size * (size - 1) * rounds);
  MPI_Finalize();
  return 0;
}
