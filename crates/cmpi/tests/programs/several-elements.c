/* Ranks 1 and 2 update elements of rank 0: the same two, one, or two behind an exclusive lock, by
 * the argument. */

#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
  int rank, values[2] = {1, 1}, before[2];
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create(values, sizeof values, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  int count = strcmp(argv[1], "one") == 0 ? 1 : 2;
  int lock = strcmp(argv[1], "exclusive") == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
  if (rank > 0) {
    MPI_Win_lock(lock, 0, 0, window);
    MPI_Get_accumulate(values, count, MPI_INT, before, count, MPI_INT, 0, 0, count, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
