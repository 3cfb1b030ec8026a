/* The C library as each rank sees it: options, random numbers, errno, variables and streams of its
 * own, while the others use theirs in between. */

#include <errno.h>
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int initialized = 5, zero;

static void bye(void) { printf(" and bye %d\n", initialized); }

int main(int argc, char **argv) {
  static struct option names[] = {
      {"alpha", required_argument, 0, 'a'}, {"beta", no_argument, 0, 'b'}, {0, 0, 0, 0}};
  int rank, ranks, option, other;
  char found[200] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int above = (rank + 1) % ranks, below = (rank + ranks - 1) % ranks;
  atexit(bye);
  srand(rank + 1);
  initialized += rank;
  zero += rank;
  while ((option = getopt_long(argc, argv, "n:v", names, NULL)) != -1) {
    char text[50];
    snprintf(text, sizeof text, " %c=%s", option, optarg ? optarg : "");
    strcat(found, text);
    errno = rank;
    MPI_Sendrecv(&rank, 1, MPI_INT, above, 0, &other, 1, MPI_INT, below, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (errno != rank || other != below)
      abort();
  }
  for (; optind < argc; optind++)
    strcat(strcat(found, " "), argv[optind]);
  int first = rand();
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d:%s, %d %d, %d %d", rank, found, first, rand(), initialized, zero);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
