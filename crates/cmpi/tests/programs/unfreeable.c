/* Requests of collectives and of accesses to a window that are freed or cancelled before they are
 * complete. The first argument selects a mistake; without, all calls are right. */

#include <mpi.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD

int main(int count, char **arguments) {
  const char *mistake = count > 1 ? arguments[1] : "";
  int rank, number = 0, sum, *base;
  MPI_Win window;
  MPI_Comm copy;
  MPI_Request request, persistent;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, WORLD, &base, &window);
#define IS(name) (strcmp(mistake, name) == 0)
  MPI_Ibarrier(WORLD, &request);
  if (IS("barrier"))
    MPI_Request_free(&request);
  if (IS("cancel"))
    MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, WORLD, &request);
  if (IS("allreduce"))
    MPI_Request_free(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_idup(WORLD, &copy, &request);
  if (IS("idup"))
    MPI_Request_free(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&copy);
  MPI_Bcast_init(&number, 1, MPI_INT, 0, WORLD, MPI_INFO_NULL, &persistent);
  MPI_Start(&persistent);
  if (IS("persistent"))
    MPI_Request_free(&persistent);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  /* A persistent request that is not active. */
  MPI_Request_free(&persistent);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Rget(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, window, &request);
  if (IS("access"))
    MPI_Request_free(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock(0, window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
