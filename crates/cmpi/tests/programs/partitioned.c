/* Partitioned messages around a ring. Prints "ok", or the first difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTS 6
#define EACH 100

static int rank, ranks;
static double out[2][PARTS * EACH], in[2][PARTS * EACH];

static void expect(const char *what, double found, double expected) {
  if (found == expected)
    return;
  printf("rank %d: %s is %g, expected %g\n", rank, what, found, expected);
  exit(1);
}

static void fill(int message, int part, int round) {
  for (int i = 0; i < EACH; i++)
    out[message][part * EACH + i] = 1e6 * rank + 1e4 * message + 1000 * round + part * EACH + i;
}

int main(int argc, char **argv) {
  MPI_Request sends[2], receives[2];
  MPI_Status status;
  int flag, count, order[] = {4, 0, 5};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int above = (rank + 1) % ranks, below = (rank + ranks - 1) % ranks;
  for (int m = 0; m < 2; m++) {
    /* The receives have half as many partitions; both messages have one tag. */
    MPI_Psend_init(out[m], PARTS, EACH, MPI_DOUBLE, above, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[m]);
    MPI_Precv_init(in[m], PARTS / 2, 2 * EACH, MPI_DOUBLE, below, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[m]);
  }
  for (int round = 0; round < 3; round++) {
    MPI_Startall(2, receives);
    for (int m = 1; m >= 0; m--) {
      MPI_Start(&sends[m]);
      for (int part = 0; part < PARTS; part++)
        fill(m, part, round);
      MPI_Pready(3, sends[m]);
      MPI_Pready_list(3, order, sends[m]);
      if (round == 0 && m == 1) {
        MPI_Test(&sends[m], &flag, MPI_STATUS_IGNORE);
        expect("is over", flag, 0);
      }
      MPI_Pready_range(1, 2, sends[m]);
    }
    for (int m = 0; m < 2; m++) {
      for (int part = 0; part < PARTS / 2; part++) {
        do
          MPI_Parrived(receives[m], part, &flag);
        while (!flag);
        double first = 1e6 * below + 1e4 * m + 1000 * round + part * 2 * EACH;
        for (int i = 0; i < 2 * EACH; i++)
          expect("what came", in[m][part * 2 * EACH + i], first + i);
      }
      MPI_Wait(&receives[m], &status);
      MPI_Get_count(&status, MPI_DOUBLE, &count);
      expect("the count", count, PARTS * EACH);
      expect("the tag", status.MPI_TAG, 3);
      expect("the source", status.MPI_SOURCE, below);
    }
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  }
  for (int m = 0; m < 2; m++) {
    MPI_Request_free(&sends[m]);
    MPI_Request_free(&receives[m]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
