/* Neighbours that both send first and receive then: the twin of apps/two-senders. It works only
 * because of buffering: from the eager threshold on it deadlocks.
 *
 * simrun --platform platforms/cluster.toml -n 2 ./two-senders -- --size 1000000 */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  int rank, ranks, size = 1024;
  MPI_Init(&argc, &argv);
  if (argc == 3 && strcmp(argv[1], "--size") == 0)
    size = atoi(argv[2]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int partner = rank ^ 1;
  if (partner < ranks) {
    char *message = calloc(size > 0 ? size : 1, 1);
    MPI_Send(message, size, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(message, size, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(message);
  }
  MPI_Finalize();
  return 0;
}
