/* Two ranks that use memory of an operation before it is complete, by the first argument; without
 * one, uses that are right. */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static int is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

/* Sends or receives, and returns the request. */
static MPI_Request begun(int is_send, int *numbers, int count) {
  MPI_Request request;
  if (is_send)
    MPI_Isend(numbers, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Irecv(numbers, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
  return request;
}

/* Padding has no value, and may have another one in each execution. */
struct padded {
  char letter;
  double number;
};

static void padding(void) {
  struct padded pair[4];
  for (int at = 0; at < 4; at++) {
    pair[at].letter = 'a';
    pair[at].number = at;
  }
  MPI_Bcast(pair, sizeof pair, MPI_BYTE, 0, MPI_COMM_WORLD);
  char unset[300];
  MPI_Bcast(unset, sizeof unset, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void right(void) {
  int numbers[8] = {rank, 1, 2, 3, 4, 5, 6, 7}, flag = 0;
  MPI_Request all[4];
  MPI_Datatype even;
  padding();
  /* Both send the same numbers twice at a time, and receive into other ones. */
  all[0] = begun(1, numbers, 2);
  all[1] = begun(1, numbers, 2);
  all[2] = begun(0, numbers + 2, 2);
  all[3] = begun(0, numbers + 4, 2);
  numbers[7] = 70;
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  /* Every other number is received, the rest changes. */
  MPI_Type_vector(4, 1, 2, MPI_INT, &even);
  MPI_Type_commit(&even);
  MPI_Irecv(numbers, 1, even, 1 - rank, 1, MPI_COMM_WORLD, &all[0]);
  int four[4] = {0};
  numbers[1] = 10;
  MPI_Irecv(numbers + 3, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, &all[1]);
  MPI_Send(four, 4, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
  MPI_Send(four, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD);
  MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  MPI_Type_free(&even);
  /* A request that is over by its status, and one that is started again. */
  all[0] = begun(1, numbers, 1);
  MPI_Recv(four, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  while (!flag)
    MPI_Request_get_status(all[0], &flag, MPI_STATUS_IGNORE);
  numbers[0]++;
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
  MPI_Send_init(numbers, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &all[0]);
  for (int round = 0; round < 2; round++) {
    MPI_Start(&all[0]);
    MPI_Recv(four, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&all[0], MPI_STATUS_IGNORE);
    numbers[0]++;
  }
  MPI_Request_free(&all[0]);
  MPI_Iallreduce(MPI_IN_PLACE, numbers, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all[0]);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
}

/* Rank 1 gets into its own part of a window, and rank 0 puts there: the same bytes, or others. */
static void access_own_part(int place, int is_locked) {
  int shared[4] = {0}, number = 5;
  MPI_Win window;
  MPI_Win_create(shared, sizeof shared, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (is_locked)
    MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, window);
  else
    MPI_Win_fence(0, window);
  if (rank == 0)
    MPI_Put(&number, 1, MPI_INT, 1, place, 1, MPI_INT, window);
  else
    MPI_Get(shared + 1, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  if (is_locked)
    MPI_Win_unlock(1 - rank, window);
  else
    MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

/* Accesses under a lock between two fences, without assertions or with one. */
static void lock_between_fences(int assertion) {
  int shared = 0, number = 5;
  MPI_Win window;
  MPI_Win_create(&shared, sizeof shared, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
  MPI_Win_fence(assertion, window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Put(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_unlock(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

/* Accesses to a window whose memory at the origin is used before the next fence. */
static void access_window(const char *mode) {
  int shared[4] = {0}, numbers[2] = {rank, rank};
  MPI_Win window;
  MPI_Win_create(shared, sizeof shared, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Get(numbers, 2, MPI_INT, 1 - rank, 0, 2, MPI_INT, window);
  if (is(mode, "get-twice"))
    MPI_Get(numbers + 1, 1, MPI_INT, 1 - rank, 3, 1, MPI_INT, window);
  else if (is(mode, "get-store"))
    numbers[1] = 7;
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int numbers[4] = {0}, others[4] = {0};
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is(mode, ""))
    right();
  else if (is(mode, "store")) {
    request = begun(rank == 0, numbers, 4);
    numbers[2] += rank == 0;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (is(mode, "room")) {
    request = begun(rank == 0, numbers, 4);
    numbers[3] += rank == 1;
    MPI_Waitall(1, &request, MPI_STATUS_IGNORE);
  } else if (is(mode, "overlap")) {
    request = begun(0, numbers, 4);
    MPI_Send(numbers + 3, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (is(mode, "collective")) {
    MPI_Iallreduce(numbers, others, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    numbers[0] = 7;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (is(mode, "exchange"))
    MPI_Sendrecv(numbers, 3, MPI_INT, 1 - rank, 0, numbers + 1, 3, MPI_INT, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else if (is(mode, "barriers")) {
    if (rank == 0)
      MPI_Ibarrier(MPI_COMM_WORLD, &request);
    else
      MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (is(mode, "persistent"))
    MPI_Send_init(numbers, 4, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
  else if (is(mode, "fences"))
    lock_between_fences(0);
  else if (is(mode, "asserted"))
    lock_between_fences(MPI_MODE_NOSUCCEED);
  else if (is(mode, "block")) {
    MPI_Win window;
    int *block = malloc(4 * sizeof(int));
    MPI_Win_create(block, 100 * sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_free(&window);
    free(block);
  } else if (is(mode, "own-fence") || is(mode, "own-lock"))
    access_own_part(1, is(mode, "own-lock"));
  else if (is(mode, "other-fence") || is(mode, "other-lock"))
    access_own_part(2, is(mode, "other-lock"));
  else
    access_window(mode);
  MPI_Finalize();
  return 0;
}
