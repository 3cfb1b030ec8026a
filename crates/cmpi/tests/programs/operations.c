/* Operations of the program that write beside their elements. The first argument selects a mistake;
 * without, the operation is right. */

#include <assert.h>
#include <mpi.h>
#include <string.h>

#define COUNT 100

static long from = 0, to = 1;

/* Adds the elements from the first index to the second, both times the number of elements. */
static void add(void *incoming, void *inout, int *count, MPI_Datatype *type) {
  float *one = incoming, *other = inout;
  for (long index = from * *count; index < to * *count; index++)
    other[index] += one[index] + (index < 0 || index >= *count);
}

int main(int count, char **arguments) {
  const char *mistake = count > 1 ? arguments[1] : "";
  float own[COUNT], all[COUNT];
  int rank, ranks;
  MPI_Op op;
  MPI_Request request;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int index = 0; index < COUNT; index++)
    own[index] = index + rank;
  MPI_Op_create(add, 1, &op);
  if (strcmp(mistake, "doubles") == 0)
    to = 2;
  if (strcmp(mistake, "longest") == 0)
    to = 8;
  if (strcmp(mistake, "before") == 0)
    from = -1;
  MPI_Reduce(own, all, 1, MPI_FLOAT, op, 0, MPI_COMM_WORLD);
  MPI_Iallreduce(own, all, COUNT, MPI_FLOAT, op, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int index = 0; index < COUNT; index++)
    assert(all[index] == index * ranks + ranks * (ranks - 1) / 2);
  MPI_Reduce_local(own, all, 1, MPI_FLOAT, op);
  MPI_Op_free(&op);
  MPI_Finalize();
  return 0;
}
