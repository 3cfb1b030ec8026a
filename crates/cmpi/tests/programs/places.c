/* The time of each access to 10 000 numbers of rank 1: contiguous there, every second one, and at
 * irregular places. Prints "ok" if the numbers are right, or the line of the first failure. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 10000

static int rank, *memory, is_phantom;
static int given[COUNT], got[COUNT], places[COUNT];
static MPI_Win window;

#define CHECK(condition)                                                       \
  do {                                                                   \
    if (!is_phantom && !(condition)) {                             \
      printf("%d: line %d\n", rank, __LINE__);               \
      MPI_Abort(MPI_COMM_WORLD, 1);                          \
    }                                                              \
  } while (0)

enum { PUT, GET, ACCUMULATE, GET_ACCUMULATE, RPUT, RGET, RACCUMULATE, RGET_ACCUMULATE, CALLS };
static const char *names[] = {"put",  "get",  "accumulate",  "get_accumulate",
                              "rput", "rget", "raccumulate", "rget_accumulate"};

static void access(int call, int count, MPI_Datatype type)
{
  MPI_Request request = MPI_REQUEST_NULL;
  switch (call) {
  case PUT:
    MPI_Put(given, COUNT, MPI_INT, 1, 0, count, type, window);
    break;
  case GET:
    MPI_Get(got, COUNT, MPI_INT, 1, 0, count, type, window);
    break;
  case ACCUMULATE:
    MPI_Accumulate(given, COUNT, MPI_INT, 1, 0, count, type, MPI_SUM, window);
    break;
  case GET_ACCUMULATE:
    MPI_Get_accumulate(given, COUNT, MPI_INT, got, COUNT, MPI_INT, 1, 0, count, type, MPI_SUM, window);
    break;
  case RPUT:
    MPI_Rput(given, COUNT, MPI_INT, 1, 0, count, type, window, &request);
    break;
  case RGET:
    MPI_Rget(got, COUNT, MPI_INT, 1, 0, count, type, window, &request);
    break;
  case RACCUMULATE:
    MPI_Raccumulate(given, COUNT, MPI_INT, 1, 0, count, type, MPI_SUM, window, &request);
    break;
  case RGET_ACCUMULATE:
    MPI_Rget_accumulate(given, COUNT, MPI_INT, got, COUNT, MPI_INT, 1, 0, count, type, MPI_SUM, window,
                        &request);
    break;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static double timed(int call, int count, MPI_Datatype type)
{
  for (int i = 0; i < 2 * COUNT; i++)
    memory[i] = i;
  for (int i = 0; i < COUNT; i++)
    got[i] = -1;
  MPI_Win_fence(0, window);
  double start = MPI_Wtime();
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    access(call, count, type);
    MPI_Win_unlock(1, window);
  }
  double time = MPI_Wtime() - start;
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  int writes = call == PUT || call == RPUT;
  int reads = call == GET || call == RGET;
  int returns = reads || call == GET_ACCUMULATE || call == RGET_ACCUMULATE;
  for (int i = 0; i < COUNT && count == 1; i++) {
    int before = places[i];
    CHECK(rank != 0 || got[i] == (returns ? before : -1));
    int after = reads ? before : writes ? given[i] : before + given[i];
    CHECK(rank != 1 || memory[before] == after);
  }
  return time;
}

int main(int argc, char **argv)
{
  MPI_Datatype vector, indexed;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  is_phantom = argc > 1;
  MPI_Win_allocate(2 * COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int i = 0; i < COUNT; i++) {
    given[i] = 3 * i;
    places[i] = 2 * i + i * i % 7 % 2;
  }
  MPI_Type_vector(COUNT, 1, 2, MPI_INT, &vector);
  MPI_Type_create_indexed_block(COUNT, 1, places, MPI_INT, &indexed);
  MPI_Type_commit(&vector);
  MPI_Type_commit(&indexed);
  for (int call = 0; call < CALLS; call++) {
    double dense = timed(call, COUNT, MPI_INT);
    double irregular = timed(call, 1, indexed);
    for (int i = 0; i < COUNT; i++)
      places[i] = 2 * i;
    double strided = timed(call, 1, vector);
    for (int i = 0; i < COUNT; i++)
      places[i] = 2 * i + i * i % 7 % 2;
    if (rank == 0)
      printf("%s: %.3f %.3f %.3f\n", names[call], 1e6 * dense, 1e6 * strided, 1e6 * irregular);
  }
  MPI_Win_free(&window);
  MPI_Type_free(&vector);
  MPI_Type_free(&indexed);
  MPI_Finalize();
  if (rank == 0)
    printf("ok\n");
  return 0;
}
