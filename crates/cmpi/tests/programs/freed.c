/* A receive of rank 0 whose request is freed. By the first argument: `order` for the first of two
 * messages, `data` with a look at its data, which come some time later, `any` for the message of
 * one of two ranks, `last` for a message that comes when rank 0 has called MPI_Finalize, `none` for a
 * receive without a message. */

#include <assert.h>
#include <mpi.h>
#include <string.h>

static const char *mode;

static int is(const char *name) { return strcmp(mode, name) == 0; }

int main(int argc, char **argv) {
  int rank, first = 0, second = 0;
  MPI_Request request;
  mode = argv[1];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int source = is("any") ? MPI_ANY_SOURCE : 1;
  if (rank == 0) {
    MPI_Irecv(&first, 1, MPI_INT, source, 5, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    assert(request == MPI_REQUEST_NULL);
    if (!is("none") && !is("last"))
      MPI_Recv(&second, 1, MPI_INT, source, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is("order") || is("data"))
      assert(second == 101);
    if (is("data"))
      assert(first == 100);
  } else if (is("any") || is("last")) {
    MPI_Ssend(&rank, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  } else if (!is("none")) {
    for (int number = 100; number < 102; number++)
      MPI_Send(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
