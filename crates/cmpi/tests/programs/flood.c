/* Rank 0 sends without end to a rank that receives; arguments: bytes of a message, the call. */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int bytes = argc > 1 ? atoi(argv[1]) : 4;
  int count = argc > 3 ? atoi(argv[3]) : -1;
  const char *call = argc > 2 ? argv[2] : "";
  char *buffer = calloc(bytes, 1);
  MPI_Request request;
  for (int i = 0; i != count; i++) {
    if (strcmp(call, "bcast") == 0)
      MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (rank > 0)
      MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (strcmp(call, "isend") == 0) {
      MPI_Isend(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
    } else
      MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}
