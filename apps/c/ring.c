/* A token goes round a ring: the twin of apps/ring.
 *
 * simrun --platform platforms/cluster.toml ./ring -- --size 1024 --rounds 1 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  int size = 1024, rounds = 1;
  MPI_Init(&argc, &argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--size") == 0)
      size = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--rounds") == 0)
      rounds = atoi(argv[i + 1]);
  }
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int below = (rank + ranks - 1) % ranks, above = (rank + 1) % ranks;
  char *token = calloc(size > 0 ? size : 1, 1), *back = calloc(size > 0 ? size : 1, 1);
  for (int round = 0; round < rounds; round++) {
    double start = MPI_Wtime();
    if (rank == 0) {
      MPI_Request sending;
      MPI_Isend(token, size, MPI_BYTE, above, 0, MPI_COMM_WORLD, &sending);
      MPI_Recv(back, size, MPI_BYTE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&sending, MPI_STATUS_IGNORE);
      printf("round %d: %.3f us\n", round, (MPI_Wtime() - start) * 1e6);
    } else {
      MPI_Recv(token, size, MPI_BYTE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(token, size, MPI_BYTE, above, 0, MPI_COMM_WORLD);
    }
  }
  free(token), free(back);
  MPI_Finalize();
  return 0;
}
