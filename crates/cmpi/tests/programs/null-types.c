/* Calls with MPI_DATATYPE_NULL for no elements. */

#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Sends to the next rank only; other ranks have no datatype. */
static void exchange(int rank, int ranks) {
  int sent = rank, received = -1, code;
  int *counts = calloc(2 * ranks, sizeof(int)), *places = calloc(2 * ranks, sizeof(int));
  MPI_Datatype *types = malloc(2 * ranks * sizeof(MPI_Datatype));
  for (int i = 0; i < 2 * ranks; i++)
    types[i] = MPI_DATATYPE_NULL;
  int next = (rank + 1) % ranks, previous = ranks + (rank + ranks - 1) % ranks;
  counts[next] = counts[previous] = 1;
  types[next] = types[previous] = MPI_INT;
  code = MPI_Alltoallw(&sent, counts, places, types, &received, counts + ranks, places + ranks,
                       types + ranks, MPI_COMM_WORLD);
  assert(code == MPI_SUCCESS && received == previous - ranks);
  received = -1;
  MPI_Request request;
  code = MPI_Ialltoallw(&sent, counts, places, types, &received, counts + ranks, places + ranks,
                        types + ranks, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  assert(code == MPI_SUCCESS && received == previous - ranks);
  free(counts);
  free(places);
  free(types);
}

int main(int argc, char **argv) {
  int rank, ranks, class, value = 0;
  MPI_Status status;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  exchange(rank, ranks);
  int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, next, 1, MPI_COMM_WORLD, &request);
  assert(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, previous, 1, MPI_COMM_WORLD, &status) == 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  assert(status.MPI_SOURCE == previous);
  assert(MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD) == 0);
  /* One element needs a datatype, and in other calls no elements do. */
  int code = MPI_Send(&value, 1, MPI_DATATYPE_NULL, next, 1, MPI_COMM_WORLD);
  assert(MPI_Error_class(code, &class) == 0 && class == MPI_ERR_TYPE);
  code = MPI_Alltoall(&value, 0, MPI_DATATYPE_NULL, &code, 0, MPI_INT, MPI_COMM_WORLD);
  assert(MPI_Error_class(code, &class) == 0 && class == MPI_ERR_TYPE);
  if (rank == 0)
    printf("done\n");
  MPI_Finalize();
  return 0;
}
