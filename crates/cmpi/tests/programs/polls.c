/* A loop of rank 1 that no message ends, although rank 0 sends one of another tag. By the first
 * argument: the call of the loop; `seen` for a test beside a probe that sees that message, `time`
 * for a loop that the time ends. */

#include <mpi.h>
#include <string.h>

static int is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int rank, number = 7, flag = 0, index, count = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    if (!is(mode, "iprobe") && !is(mode, "improbe"))
      MPI_Irecv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    while (!flag && !(is(mode, "time") && MPI_Wtime() > 0.1)) {
      if (is(mode, "test") || is(mode, "time"))
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      if (is(mode, "testany"))
        MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
      if (is(mode, "testall"))
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
      if (is(mode, "testsome")) {
        MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
        flag = count > 0;
      }
      if (is(mode, "iprobe"))
        MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      if (is(mode, "improbe"))
        MPI_Improbe(0, 1, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
      if (is(mode, "seen")) {
        MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      }
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
