/* A master and workers: the twin of apps/task-farm. Rank 0 gives each of the others a task, and the
 * next one to whoever answers, by a receive from any source. With --in-order it assumes that
 * answers arrive in the order of the ranks, which simrun check refutes.
 *
 * simrun check -n 3 ./task-farm -- --in-order */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASK = 1, STOP, ANSWER };

static void work(char *task, int size) {
  MPI_Status status;
  for (;;) {
    MPI_Recv(task, size, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == STOP)
      return;
    MPI_Send(task, size, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
  }
}

/* Returns 0 if answers arrive as they are assumed to. */
static int deal(char *message, int size, int workers, int tasks, int in_order) {
  for (int worker = 1; worker <= workers; worker++) {
    int tag = worker <= tasks ? TASK : STOP;
    MPI_Send(message, size, MPI_BYTE, worker, tag, MPI_COMM_WORLD);
  }
  int given = tasks < workers ? tasks : workers;
  for (int answers = 0; answers < tasks; answers++) {
    MPI_Status status;
    MPI_Recv(message, size, MPI_BYTE, MPI_ANY_SOURCE, ANSWER, MPI_COMM_WORLD, &status);
    int expected = answers % workers + 1;
    if (in_order && status.MPI_SOURCE != expected) {
      fprintf(stderr, "answer %d is from rank %d, not %d\n", answers, status.MPI_SOURCE, expected);
      return 1;
    }
    int tag = given < tasks ? TASK : STOP;
    MPI_Send(message, size, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD);
    given += tag == TASK;
  }
  return 0;
}

int main(int argc, char **argv) {
  int rank, ranks, size = 8, tasks = -1, in_order = 0, status = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--in-order") == 0)
      in_order = 1;
    else if (strcmp(argv[i], "--tasks") == 0 && i + 1 < argc)
      tasks = atoi(argv[++i]);
    else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
      size = atoi(argv[++i]);
  }
  if (ranks == 1) {
    fprintf(stderr, "1 rank: expected a master and at least 1 worker, as in -n 2\n");
    return 1;
  }
  char *message = calloc(size > 0 ? size : 1, 1);
  if (rank == 0)
    status = deal(message, size, ranks - 1, tasks < 0 ? ranks - 1 : tasks, in_order);
  else
    work(message, size);
  free(message);
  if (status == 0)
    MPI_Finalize();
  return status;
}
