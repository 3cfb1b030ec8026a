/* Arguments of collectives that contradict each other at one rank, and buffers that are shorter
 * than the message. The first argument selects a mistake; without, all calls are right. */

#include <assert.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define INT MPI_INT

static int rank, ranks;

static void right(void) {
  int one[2] = {1, 1}, both[2] = {0, 0};
  int own[4] = {rank, rank + 10, rank + 20, rank + 30}, all[16], counts[2] = {1, 3};
  int gaps[2] = {0, 2}, *block = malloc(3 * sizeof(int)), *whole = aligned_alloc(64, 128);
  MPI_Gather(own, 2, INT, all, 2, INT, 0, WORLD);
  MPI_Gather(own, 2, INT, all, 8, MPI_BYTE, 1, WORLD);
  MPI_Scatter(own, 1, INT, rank ? all : MPI_IN_PLACE, 1, INT, 0, WORLD);
  MPI_Allgatherv(own, counts[rank], INT, all, counts, gaps, INT, WORLD);
  assert(all[0] == 0 && all[2] == 1 && all[4] == 21);
  /* The buffers are parts of one array, which have no element in common. */
  MPI_Allgather(own + 2, 1, INT, own, 1, INT, WORLD);
  MPI_Reduce(rank ? own : MPI_IN_PLACE, rank ? NULL : own, 2, INT, MPI_SUM, 0, WORLD);
  MPI_Exscan(MPI_IN_PLACE, own, 1, INT, MPI_SUM, WORLD);
  /* Two datatypes take turns in one array. */
  MPI_Datatype even, odd, zero, five;
  int mine = rank, first = 0;
  MPI_Aint at = 5 * sizeof(int), places[2];
  MPI_Type_vector(2, 1, 4, INT, &even);
  MPI_Type_create_hindexed(1, (int[]){2}, &at, INT, &odd);
  MPI_Type_create_resized(odd, 0, 8 * sizeof(int), &five);
  MPI_Type_commit(&even);
  MPI_Type_commit(&five);
  MPI_Allgather(all, 1, even, all, 1, five, WORLD);
  MPI_Get_address(&mine, &places[0]);
  MPI_Get_address(own, &places[1]);
  MPI_Type_create_hindexed(1, (int[]){1}, &places[0], INT, &zero);
  MPI_Type_free(&even);
  MPI_Type_create_hindexed(1, (int[]){1}, &places[1], INT, &even);
  MPI_Type_commit(&zero);
  MPI_Type_commit(&even);
  MPI_Allreduce(&mine, &first, 1, INT, MPI_MIN, WORLD);
  MPI_Alltoallw(MPI_BOTTOM, one, both, (MPI_Datatype[]){zero, zero}, MPI_BOTTOM,
                (int[]){1, 1}, (int[]){0, 4}, (MPI_Datatype[]){even, even}, WORLD);
  MPI_Type_free(&even);
  MPI_Type_free(&odd);
  MPI_Type_free(&zero);
  MPI_Type_free(&five);
  /* A receive may have room for more than the block, if the message is short. */
  MPI_Sendrecv(own, 3, INT, 1 - rank, 0, block, 1000, INT, 1 - rank, 0, WORLD, MPI_STATUS_IGNORE);
  /* Where an aligned block was, another block begins elsewhere. */
  free(whole);
  whole = malloc(128);
  MPI_Bcast(whole + 12, 16, INT, 0, WORLD);
  whole = realloc(whole, 100);
  MPI_Bcast(whole, 25, INT, 0, WORLD);
  free(whole);
  free(block);
}

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &ranks);
  const char *mistake = count > 1 ? arguments[1] : "";
  int own[8] = {0}, all[32], one[2] = {1, 1}, two[2] = {2, 1};
  int both[2] = {0, 0}, next[2] = {0, 1}, apart[2] = {0, 2};
  float numbers[8];
  int *block = malloc(5 * sizeof(int));
  MPI_Request request;
#define IS(name) (strcmp(mistake, name) == 0)
  if (IS(""))
    right();
  else if (IS("gather"))
    MPI_Gather(own, 1, INT, all, ranks, INT, 0, WORLD);
  else if (IS("scatter"))
    MPI_Scatter(all, ranks, INT, own, 1, INT, 0, WORLD);
  else if (IS("allgather"))
    MPI_Allgather(own, 1, INT, all, ranks, INT, WORLD);
  else if (IS("iallgather")) {
    MPI_Iallgather(own, 1, INT, all, ranks, INT, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (IS("alltoall"))
    MPI_Alltoall(all, 1, INT, numbers, 1, MPI_FLOAT, WORLD);
  else if (IS("gatherv"))
    MPI_Gatherv(own, 1, INT, all, two, apart, INT, 0, WORLD);
  else if (IS("alltoallv"))
    MPI_Alltoallv(own, rank ? one : two, next, INT, all, one, next, INT, WORLD);
  else if (IS("aliases"))
    MPI_Allreduce(own, own, 1, INT, MPI_SUM, WORLD);
  else if (IS("overlap"))
    MPI_Allgather(all + rank, 1, INT, all, 1, INT, WORLD);
  else if (IS("twice"))
    MPI_Allgatherv(own, 1, INT, all, one, both, INT, WORLD);
  else if (IS("in-place"))
    MPI_Reduce(MPI_IN_PLACE, all, 1, INT, MPI_SUM, 0, WORLD);
  else if (IS("nowhere"))
    MPI_Allreduce(own, NULL, 1, INT, MPI_SUM, WORLD);
  else if (IS("short"))
    MPI_Allgather(own, 3, INT, block, 3, INT, WORLD);
  else if (IS("short-send"))
    MPI_Sendrecv(block, 6, INT, 1 - rank, 0, own, 6, INT, 1 - rank, 0, WORLD, MPI_STATUS_IGNORE);
  else if (IS("freed")) {
    int *volatile gone = block;
    free(block);
    MPI_Bcast(gone, 5, INT, 0, WORLD);
    block = NULL;
  }
  free(block);
  MPI_Finalize();
  return 0;
}
