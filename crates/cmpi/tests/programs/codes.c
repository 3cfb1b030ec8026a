/* Error codes of constructors of datatypes and of MPI_Reduce_local: prints "ok", or the first
   difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COMM MPI_COMM_WORLD

static int rank;

static void expect(const char *what, long found, long expected) {
  if (found == expected)
    return;
  printf("rank %d: %s is %ld, expected %ld\n", rank, what, found, expected);
  exit(1);
}

static void datatypes(void) {
  MPI_Datatype made, old = MPI_INT;
  MPI_Aint place = 0;
  int one = 1, minus = -1, zero = 0, size;
#define CLASS(call, class) expect(#call, MPI_##call, class)
  CLASS(Type_contiguous(-1, old, &made), MPI_ERR_COUNT);
  CLASS(Type_vector(-1, 1, 1, old, &made), MPI_ERR_COUNT);
  CLASS(Type_vector(1, -1, 1, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_hvector(-1, 1, 4, old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_hvector(1, -1, 4, old, &made), MPI_ERR_ARG);
  CLASS(Type_indexed(-1, &one, &zero, old, &made), MPI_ERR_COUNT);
  CLASS(Type_indexed(1, &minus, &zero, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_hindexed(-1, &one, &place, old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_hindexed(1, &minus, &place, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_indexed_block(-1, 1, &zero, old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_indexed_block(1, -1, &zero, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_hindexed_block(-1, 1, &place, old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_hindexed_block(1, -1, &place, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_struct(-1, &one, &place, &old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_struct(1, &minus, &place, &old, &made), MPI_ERR_ARG);
  CLASS(Pack_size(-1, old, COMM, &size), MPI_ERR_COUNT);
  CLASS(Pack_external_size("external32", -1, old, &place), MPI_ERR_COUNT);
}

static void reductions(void) {
  int in = 1, inout = 2;
  CLASS(Reduce_local(MPI_IN_PLACE, &inout, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CLASS(Reduce_local(&in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CLASS(Reduce_local(NULL, &inout, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CLASS(Reduce_local(&in, NULL, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CLASS(Reduce_local(&in, &inout, 1, MPI_INT, MPI_SUM), MPI_SUCCESS);
  expect("the sum", inout, 3);
  CLASS(Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM), MPI_SUCCESS);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_set_errhandler(COMM, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  datatypes();
  reductions();
  MPI_Barrier(COMM);
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
