/* Wrong begins, ends and operations, by the first argument; without one an operation that prints. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *mode = "";

static void combine(void *in, void *inout, int *count, MPI_Datatype *datatype) {
  int size;
  MPI_Type_size(*datatype, &size);
  for (int i = 0; i < *count; i++)
    ((int *)inout)[i] += ((int *)in)[i] * (size == 4);
  void *block = malloc(100);
  free(block);
  printf("combined\n");
  if (strcmp(mode, "call") == 0)
    MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(mode, "operation") == 0)
    *(volatile int *)0 = 1;
}

int main(int argc, char **argv) {
  int rank, ranks, value;
  volatile int endless = 1;
  mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "before") == 0)
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(mode, "type") == 0)
    MPI_Type_size(MPI_INT, &value);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Op op;
  MPI_Op_create(combine, 1, &op);
  value = rank + 1;
  int sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != ranks * (ranks + 1) / 2)
    MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(mode, "loop") == 0 && rank == 1)
    while (endless)
      value++;
  if (strcmp(mode, "request") == 0) {
    if (rank == 0)
      MPI_Isend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    else if (rank == 1)
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(mode, "objects") == 0) {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Win window;
    MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  } else {
    MPI_Op_free(&op);
  }
  MPI_Finalize();
  if (strcmp(mode, "after") == 0)
    MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}
