/* Stores of rank 1 to its own window, which rank 0 accesses. The first argument selects a mistake;
 * without, a synchronisation orders all stores and accesses to the same bytes. */

#include <mpi.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define IS(name) (strcmp(mistake, name) == 0)

static const char *mistake;
static int rank, one = 1, result;
static MPI_Win window;

static void put(int place) { MPI_Put(&one, 1, MPI_INT, 1, place, 1, MPI_INT, window); }

static void get(int place) { MPI_Get(&result, 1, MPI_INT, 1, place, 1, MPI_INT, window); }

/* Rank 1 stores to place 0 in the first epoch and to place 1 in the next one. */
static void fences(int *base) {
  MPI_Win_fence(0, window);
  if (rank == 0 && IS("get"))
    get(0);
  else if (rank == 0)
    put(IS("fence") ? 0 : 1);
  else
    base[0] = 5;
  MPI_Win_fence(rank == 0 ? MPI_MODE_NOSTORE : 0, window);
  if (rank == 0)
    put(0);
  else
    base[1] = 6;
  MPI_Win_fence(MPI_MODE_NOSUCCEED | (rank == 0 || IS("assertion") ? MPI_MODE_NOSTORE : 0), window);
}

static void exposures(int *base) {
  MPI_Group all, other;
  MPI_Comm_group(WORLD, &all);
  MPI_Group_incl(all, 1, &(int){1 - rank}, &other);
  for (int round = 0; round < 2; round++)
    if (rank == 0) {
      MPI_Win_start(other, 0, window);
      put(0);
      MPI_Win_complete(window);
    } else {
      base[0] = 7 + round;
      MPI_Win_post(other, IS("post") ? MPI_MODE_NOSTORE : 0, window);
      base[IS("exposure") ? 0 : 1] = 9 + round;
      MPI_Win_wait(window);
    }
  MPI_Group_free(&all);
  MPI_Group_free(&other);
}

/* Rank 0 puts under a lock; barriers order the stores of rank 1 before and after. */
static void locks(int *base) {
  if (rank == 1 && !IS("early"))
    base[0] = 11;
  MPI_Barrier(WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    put(0);
    MPI_Win_unlock(1, window);
  } else if (IS("early")) {
    base[0] = 12;
  }
  MPI_Barrier(WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    put(0);
    MPI_Win_unlock(1, window);
  } else {
    MPI_Win_lock(IS("lock") ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, IS("lock") ? 0 : 1, 0, window);
    base[0] = 13;
    MPI_Win_unlock(IS("lock") ? 0 : 1, window);
  }
  MPI_Barrier(WORLD);
}

/* Rank 1 waits in a loop for the flag that rank 0 puts, and resets the flag. */
static void flags(int *base) {
  volatile int *flag = base;
  if (rank == 1)
    *flag = 0;
  MPI_Barrier(WORLD);
  MPI_Win_lock_all(0, window);
  if (rank == 0) {
    put(0);
    MPI_Win_flush(1, window);
  } else {
    while (!*flag)
      MPI_Win_sync(window);
    *flag = 0;
    MPI_Win_sync(window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(WORLD);
}

/* Rank 1 stores to the memory that its next accesses use, in the same epoch. */
static void buffers(int *base) {
  MPI_Win_fence(0, window);
  if (rank == 1) {
    base[0] = 14;
    base[1] = 15;
    MPI_Put(base, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Accumulate(&one, 1, MPI_INT, 1, 1, 1, MPI_INT, MPI_SUM, window);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

/* Rank 0 waits under a lock for the store of rank 1, and puts then. */
static void mailbox(int *base) {
  int full = 1;
  if (rank == 1)
    base[0] = 16;
  MPI_Barrier(WORLD);
  MPI_Win_lock_all(0, window);
  if (rank == 0) {
    while (full) {
      MPI_Get(&full, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
      MPI_Win_flush(1, window);
    }
    put(0);
    MPI_Win_flush(1, window);
  } else {
    base[0] = 0;
    MPI_Win_sync(window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(WORLD);
}

/* The gets of rank 1 fill its own window, which is no store of the program. */
static void results(int *base) {
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  if (rank == 1)
    MPI_Get(base, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  if (rank == 0)
    put(0);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

int main(int count, char **arguments) {
  int *base;
  MPI_Init(&count, &arguments);
  mistake = count > 1 ? arguments[1] : "";
  MPI_Comm_rank(WORLD, &rank);
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &base, &window);
  /* Nothing orders the first contents. */
  base[0] = base[1] = 2;
  fences(base);
  exposures(base);
  locks(base);
  flags(base);
  results(base);
  buffers(base);
  mailbox(base);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
