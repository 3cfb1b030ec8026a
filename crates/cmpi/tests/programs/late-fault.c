/* Rank 0 sends from a wrong address if the message of rank 2 comes first: the fault happens in the
 * copy of a message that takes over the memory of a received one. */
#include <mpi.h>

int main(int argc, char **argv) {
  int rank, value = 1, first;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    first = status.MPI_SOURCE;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    MPI_Send(first == 2 ? (int *)8 : &value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
  }
  MPI_Finalize();
  return 0;
}
