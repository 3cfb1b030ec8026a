/* False assertions about epochs of fences, and accumulates with different operations. The first
 * argument selects a mistake; without, all calls are right. */

#include <mpi.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD

int main(int count, char **arguments) {
  const char *mistake = count > 1 ? arguments[1] : "";
  int rank, *base, one = 1, read;
  MPI_Win window;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &base, &window);
#define IS(name) (strcmp(mistake, name) == 0)
  /* Rank 0 alone is updated, so rank 1 excludes puts. */
  int excludes = (IS("put") ? rank == 0 : rank == 1) ? MPI_MODE_NOPUT : 0;
  int begins = IS("one-precede") && rank == 1 ? 0 : MPI_MODE_NOPRECEDE;
  int follows = IS("succeed") ? MPI_MODE_NOSUCCEED : 0;
  MPI_Win_fence(begins | follows | excludes, window);
  if (rank == 1)
    MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  else if (!IS("precede"))
    MPI_Fetch_and_op(NULL, &read, MPI_INT, 1, 0, MPI_NO_OP, window);
  MPI_Win_fence(IS("precede") ? MPI_MODE_NOPRECEDE : 0, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  /* Operations differ at other places, in other epochs, and for MPI_REPLACE. */
  MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, rank ? MPI_SUM : MPI_REPLACE, window);
  MPI_Win_fence(0, window);
  MPI_Op op = IS("operations") && rank == 1 ? MPI_PROD : MPI_MAX;
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, op, window);
  MPI_Win_fence(IS("one-succeed") && rank == 0 ? 0 : MPI_MODE_NOSUCCEED, window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
