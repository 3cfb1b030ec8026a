/* Loops that wait for time to pass. By the first argument: `spin` for one that only reads the clock,
 * `sleep` for one that also sleeps, `either` for a message that may come too late, `message` and
 * `time` believe that it comes in time or does not, `none` reads the clock without a loop, `never`
 * for a loop that asks for a message without a sender. */

#include <assert.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static int is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

int main(int argc, char **argv) {
  const char *mode = argv[1];
  int rank, number = 7, has_come = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double begin = MPI_Wtime();
  if (is(mode, "spin") || is(mode, "sleep")) {
    while (MPI_Wtime() - begin < 1e-3)
      if (is(mode, "sleep"))
        usleep(1);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(mode, "none")) {
    MPI_Barrier(MPI_COMM_WORLD);
    assert(MPI_Wtime() >= begin);
  } else if (is(mode, "never")) {
    while (!has_come)
      MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &has_come, MPI_STATUS_IGNORE);
  } else if (rank == 0) {
    while (!has_come && MPI_Wtime() - begin < 0.5)
      MPI_Iprobe(1, 0, MPI_COMM_WORLD, &has_come, MPI_STATUS_IGNORE);
    if (!is(mode, "either"))
      assert(has_come == is(mode, "message"));
    MPI_Recv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
