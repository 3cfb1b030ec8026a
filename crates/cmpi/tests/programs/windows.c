/* One-sided communication: each rank checks what the others have written to its own variables.
 * It prints "ok" at rank 0, or the line of the first failure. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                       \
  do {                                                                   \
    if (!(condition)) {                                            \
      printf("%d: line %d\n", rank, __LINE__);               \
      MPI_Abort(MPI_COMM_WORLD, 1);                          \
    }                                                              \
  } while (0)

static int rank, size, left, right;
static int numbers[16];

static void fences(void)
{
  MPI_Win window;
  MPI_Aint *bytes;
  int *unit, *base, *model, flag, got[2] = {-1, -1};

  MPI_Win_create(numbers, sizeof numbers, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag);
  CHECK(flag && base == numbers);
  MPI_Win_get_attr(window, MPI_WIN_SIZE, &bytes, &flag);
  CHECK(flag && *bytes == sizeof numbers);
  MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, &unit, &flag);
  CHECK(flag && *unit == sizeof(int));
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &flag);
  CHECK(flag && *model == MPI_WIN_UNIFIED);
  memset(numbers, 0, sizeof numbers);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  int mine[2] = {rank, 100 + rank};
  MPI_Put(mine, 2, MPI_INT, right, 3, 2, MPI_INT, window);
  MPI_Accumulate(&mine[1], 1, MPI_INT, 0, 8, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  /* The program reads its own variables. */
  CHECK(numbers[3] == left && numbers[4] == 100 + left);
  if (rank == 0)
    CHECK(numbers[8] == 100 * size + size * (size - 1) / 2);
  MPI_Get(got, 2, MPI_INT, left, 3, 2, MPI_INT, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  CHECK(got[0] == (left + size - 1) % size && got[1] == 100 + got[0]);
  MPI_Win_free(&window);
  CHECK(window == MPI_WIN_NULL);
}

/* Columns of the target, and a column of the origin. */
static void datatypes(void)
{
  MPI_Win window;
  MPI_Datatype column;
  int table[4][4] = {{0}}, copy[4][4] = {{0}};

  MPI_Type_vector(4, 1, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Win_create(table, sizeof table, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  int mine[4] = {rank, rank + 1, rank + 2, rank + 3};
  MPI_Put(mine, 4, MPI_INT, right, 2 * sizeof(int), 1, column, window);
  MPI_Win_fence(0, window);
  for (int row = 0; row < 4; row++)
    CHECK(table[row][2] == left + row && table[row][1] == 0);
  MPI_Get(&copy[0][1], 1, column, right, 2 * sizeof(int), 1, column, window);
  MPI_Win_fence(0, window);
  for (int row = 0; row < 4; row++)
    CHECK(copy[row][1] == rank + row && copy[row][2] == 0);
  MPI_Win_free(&window);
  MPI_Type_free(&column);
}

static void locks(void)
{
  MPI_Win window;
  long *counter, one = 1, before, zero = 0, sum = 0;
  int flag = 0;

  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
  counter[0] = counter[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Get(&before, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
  MPI_Win_flush(0, window);
  before++;
  MPI_Put(&before, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
  MPI_Win_unlock(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 1, MPI_SUM, window);
  MPI_Win_flush_all(window);
  CHECK(before >= 0 && before < size);
  MPI_Reduce(&before, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    CHECK(sum == (long)size * (size - 1) / 2);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request requests[2];
  MPI_Rget(&before, 1, MPI_LONG, 0, 1, 1, MPI_LONG, window, &requests[0]);
  MPI_Rget_accumulate(NULL, 0, MPI_LONG, &sum, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, window, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(before == size && sum == size);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  /* One rank wins, and the others wait for it. */
  MPI_Win_lock_all(0, window);
  long token = rank + 1;
  MPI_Compare_and_swap(&token, (long[]){size}, &before, MPI_LONG, 0, 0, window);
  MPI_Win_flush(0, window);
  if (before == size)
    MPI_Accumulate(&zero, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_REPLACE, window);
  MPI_Win_flush(0, window);
  do {
    MPI_Get(&sum, 1, MPI_LONG, 0, 1, 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
  } while (sum != 0);
  MPI_Win_unlock_all(window);
  /* Rank 0 waits for a store of the last rank. */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  if (rank == size - 1) {
    token = 77;
    MPI_Put(&token, 1, MPI_LONG, 0, 1, 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
  }
  while (rank == 0 && !flag) {
    MPI_Win_sync(window);
    flag = *(volatile long *)&counter[1] == 77;
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

static void groups(void)
{
  MPI_Win window;
  MPI_Group all, to, from;
  int flag = 0, value = 1000 + rank;

  numbers[0] = -1;
  MPI_Win_create(numbers, sizeof numbers, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_name(window, "ring");
  MPI_Win_get_group(window, &all);
  MPI_Group_incl(all, 1, &right, &to);
  MPI_Group_incl(all, 1, &left, &from);
  MPI_Win_post(from, 0, window);
  MPI_Win_start(to, 0, window);
  MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, window);
  MPI_Win_complete(window);
  if (rank % 2)
    MPI_Win_wait(window);
  else
    while (!flag)
      MPI_Win_test(window, &flag);
  CHECK(numbers[0] == 1000 + left);
  MPI_Group_free(&all);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Win_free(&window);
}

/* Memory that all ranks share, and memory that is attached later. */
static void flavors(void)
{
  MPI_Win window;
  MPI_Aint bytes, place, places[64];
  MPI_Datatype column;
  int *own, *other, unit, table[4][4] = {{0}}, ones[4] = {1, 1, 1, 1}, got = -1;
  MPI_Request request;

  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
  *own = rank;
  MPI_Win_fence(0, window);
  MPI_Win_shared_query(window, right, &bytes, &unit, &other);
  CHECK(bytes == sizeof(int) && unit == sizeof(int) && *other == right);
  MPI_Win_fence(0, window);
  if (rank == 0)
    CHECK(own[size - 1] == size - 1);
  MPI_Win_free(&window);

  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_attach(window, table, sizeof table);
  MPI_Get_address(table, &place);
  MPI_Allgather(&place, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
  MPI_Type_vector(4, 1, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Win_fence(0, window);
  MPI_Accumulate(ones, 4, MPI_INT, 0, places[0], 1, column, MPI_SUM, window);
  MPI_Win_fence(0, window);
  if (rank == 0)
    CHECK(table[3][0] == size && table[0][1] == 0);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Rget(&got, 1, MPI_INT, 0, places[0], 1, MPI_INT, window, &request);
  MPI_Win_unlock(0, window);
  /* The end of the epoch has completed it. */
  CHECK(got == size);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_fence(0, window);
  MPI_Win_detach(window, table);
  MPI_Win_free(&window);
  MPI_Type_free(&column);
}

/* The null process, empty accumulates, hints. */
static void nothing(void)
{
  MPI_Win window;
  MPI_Datatype pair;
  MPI_Info hints;
  char value[64];
  int flag, blocks[2] = {1, 1};
  MPI_Aint places[2] = {0, 8};
  MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};

  MPI_Win_create(numbers, sizeof numbers, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, window);
  MPI_Put(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window);
  MPI_Win_unlock(MPI_PROC_NULL, window);
  MPI_Type_create_struct(2, blocks, places, types, &pair);
  MPI_Type_commit(&pair);
  MPI_Win_lock_all(0, window);
  MPI_Win_flush(MPI_PROC_NULL, window);
  MPI_Accumulate(NULL, 0, pair, right, 0, 0, pair, MPI_SUM, window);
  MPI_Win_unlock_all(window);
  MPI_Type_free(&pair);
  MPI_Win_get_info(window, &hints);
  MPI_Info_get(hints, "accumulate_ordering", 63, value, &flag);
  CHECK(flag && !strcmp(value, "rar,raw,war,waw"));
  MPI_Info_free(&hints);
  MPI_Win_free(&window);
}

/* All ranks put to one place: what is there afterwards is undefined, and the program is right. */
static void overlapping(void)
{
  MPI_Win window;
  numbers[0] = -1;
  MPI_Win_create(numbers, sizeof numbers, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK(rank > 0 || (numbers[0] >= 0 && numbers[0] < size));
  MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  if (argc > 1 && !strcmp(argv[1], "range")) {
    MPI_Win window;
    MPI_Win_create(numbers, sizeof numbers, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, right, 16, 1, MPI_INT, window);
  }
  if (argc > 1 && !strcmp(argv[1], "swap")) {
    MPI_Win window;
    double value = 1;
    MPI_Win_create(numbers, sizeof numbers, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Compare_and_swap(&value, &value, &value, MPI_DOUBLE, right, 0, window);
  }
  if (argc > 1 && !strcmp(argv[1], "gone")) {
    /* Rank 1 ends, whose memory others write to later. */
    MPI_Win window;
    int on_the_stack[4] = {0};
    MPI_Win_create(on_the_stack, sizeof on_the_stack, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
    if (rank == 1)
      exit(0);
    for (int round = 0; round < 100; round++) {
      MPI_Put(&rank, 1, MPI_INT, 1, 1, 1, MPI_INT, window);
      MPI_Win_flush(1, window);
    }
    exit(0);
  }
  if (argc > 1 && !strcmp(argv[1], "overlapping")) {
    overlapping();
    MPI_Finalize();
    return 0;
  }
  nothing();
  fences();
  datatypes();
  locks();
  groups();
  flavors();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("ok\n");
  MPI_Finalize();
  return 0;
}
