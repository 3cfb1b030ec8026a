/* A ring of ranks: in each round every rank sends 1 KiB to the next and receives from the one before. */
#include "mpi_usage.h"

int main(int argc, char** argv)
{
  static char word[1024];
  int rank, size;
  const int rounds = atoi(argv[1]);
  MPI_Init(&argc, &argv);
  begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; round++) {
    MPI_Send(word, 1024, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD);
    MPI_Recv(word, 1024, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  end(size, (double)size * rounds);
  MPI_Finalize();
  return 0;
}
