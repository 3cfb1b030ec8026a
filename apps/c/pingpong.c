/* Ping-pong between ranks 0 and 1: the twin of apps/pingpong. Half the round trip for each of
 * several sizes in bytes: its mean, its minimum and its median.
 *
 * simrun --platform platforms/cluster.toml ./pingpong -- -r 10 1 8 1024 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int compare(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

int main(int argc, char **argv) {
  int rank, ranks, repetitions = 10, option;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while ((option = getopt(argc, argv, "r:")) != -1) {
    if (option != 'r')
      MPI_Abort(MPI_COMM_WORLD, 2);
    repetitions = atoi(optarg);
  }
  if (ranks < 2) {
    fprintf(stderr, "ping-pong needs at least 2 ranks, but there is only 1\n");
    return 1;
  }
  if (rank == 0)
    printf("%10s %20s %17s %17s\n", "size", "half round trip", "minimum", "median");
  double *halves = malloc(repetitions * sizeof *halves);
  for (int i = optind; i < argc; i++) {
    int size = atoi(argv[i]);
    char *message = calloc(size > 0 ? size : 1, 1);
    double start = MPI_Wtime(), before = start;
    for (int repetition = 0; repetition < repetitions; repetition++) {
      if (rank == 0) {
        MPI_Send(message, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(message, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        MPI_Recv(message, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(message, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
      }
      double now = MPI_Wtime();
      halves[repetition] = (now - before) / 2;
      before = now;
    }
    if (rank == 0) {
      double mean = (before - start) / repetitions / 2;
      qsort(halves, repetitions, sizeof *halves, compare);
      double median = (halves[(repetitions - 1) / 2] + halves[repetitions / 2]) / 2;
      printf("%9dB %17.3f us %14.3f us %14.3f us\n", size, mean * 1e6, halves[0] * 1e6,
             median * 1e6);
    }
    free(message);
  }
  free(halves);
  MPI_Finalize();
  return 0;
}
