/* Arguments of collective calls in which the ranks disagree. The first argument selects a mistake;
 * without, all calls are right. */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define INT MPI_INT

static int rank, ranks;
static const char *mistake;

/* Returns true at the last rank if the mistake has this name. */
static int errs(const char *name) { return strcmp(mistake, name) == 0 && rank == ranks - 1; }

/* The buffer of the contribution, with MPI_IN_PLACE at the last rank. */
static void *given(const char *name, int *own) { return errs(name) ? MPI_IN_PLACE : own; }

static void in_place(void) {
  int own[16] = {0}, all[16] = {0}, counts[4] = {1, 1, 1, 1}, places[4] = {0, 1, 2, 3};
  MPI_Datatype types[4] = {INT, INT, INT, INT};
  MPI_Request request;
  MPI_Allreduce(given("allreduce", own), all, 1, INT, MPI_SUM, WORLD);
  MPI_Iallreduce(given("iallreduce", own), all, 1, INT, MPI_SUM, WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Allgather(given("allgather", own), 1, INT, all, 1, INT, WORLD);
  MPI_Allgatherv(given("allgatherv", own), 1, INT, all, counts, places, INT, WORLD);
  MPI_Alltoall(given("alltoall", own), 1, INT, all, 1, INT, WORLD);
  MPI_Alltoallv(given("alltoallv", own), counts, places, INT, all, counts, places, INT, WORLD);
  places[1] = sizeof(int), places[2] = 2 * sizeof(int), places[3] = 3 * sizeof(int);
  MPI_Alltoallw(given("alltoallw", own), counts, places, types, all, counts, places, types, WORLD);
  MPI_Reduce_scatter_block(given("reduce_scatter_block", own), all, 1, INT, MPI_SUM, WORLD);
  MPI_Allreduce(MPI_IN_PLACE, all, 1, INT, MPI_SUM, WORLD);
  MPI_Alltoall(MPI_IN_PLACE, 1, INT, all, 1, INT, WORLD);
  /* Here each rank decides by itself. */
  void *some = rank ? MPI_IN_PLACE : own;
  MPI_Scan(some, all, 1, INT, MPI_SUM, WORLD);
  MPI_Exscan(some, all, 1, INT, MPI_SUM, WORLD);
  MPI_Reduce_scatter(some, all, counts, INT, MPI_SUM, WORLD);
  MPI_Reduce(rank ? own : MPI_IN_PLACE, all, 1, INT, MPI_SUM, 0, WORLD);
}

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &ranks);
  mistake = count > 1 ? arguments[1] : "";
  in_place();
  MPI_Finalize();
  return 0;
}
