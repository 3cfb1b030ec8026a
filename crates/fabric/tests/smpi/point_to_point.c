/* Point-to-point calls of two ranks; each prints the date after each call, if asked for.
 * Arguments: calls, size in bytes, and the dates in seconds at which rank 0 and rank 1 begin. See smpi.rs for how it is run. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

static void note(const char *what) {
  printf("%d %s %.12f\n", rank, what, MPI_Wtime());
  fflush(stdout);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *calls = argv[1];
  int size = atoi(argv[2]);
  double begin = atof(argv[3 + rank]);
  char *first = malloc(size + 1), *second = malloc(size + 1);
  MPI_Request requests[2];
  MPI_Comm world = MPI_COMM_WORLD;
  if (begin > 0)
    usleep(begin * 1e6);
  if (!strcmp(calls, "send")) {
    if (rank == 0) {
      MPI_Send(first, size, MPI_CHAR, 1, 0, world);
      note("send");
    } else {
      MPI_Recv(first, size, MPI_CHAR, 0, 0, world, MPI_STATUS_IGNORE);
      note("recv");
    }
  } else if (!strcmp(calls, "ssend")) {
    if (rank == 0) {
      MPI_Ssend(first, size, MPI_CHAR, 1, 0, world);
      note("ssend");
    } else {
      MPI_Recv(first, size, MPI_CHAR, 0, 0, world, MPI_STATUS_IGNORE);
      note("recv");
    }
  } else if (!strcmp(calls, "isend")) {
    if (rank == 0) {
      MPI_Isend(first, size, MPI_CHAR, 1, 0, world, requests);
      note("isend");
    } else {
      MPI_Irecv(first, size, MPI_CHAR, 0, 0, world, requests);
      note("irecv");
    }
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    note("wait");
  } else if (!strcmp(calls, "two")) {
    if (rank == 0) {
      MPI_Isend(first, size, MPI_CHAR, 1, 0, world, requests);
      MPI_Isend(first, size, MPI_CHAR, 1, 1, world, requests + 1);
      note("isends");
    } else {
      MPI_Irecv(first, size, MPI_CHAR, 0, 0, world, requests);
      MPI_Irecv(second, size, MPI_CHAR, 0, 1, world, requests + 1);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    note("waitall");
  } else {
    for (int round = 0; round < 3; round++) {
      if (rank == 0) {
        MPI_Send(first, size, MPI_CHAR, 1, 0, world);
        MPI_Recv(first, size, MPI_CHAR, 1, 0, world, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(first, size, MPI_CHAR, 0, 0, world, MPI_STATUS_IGNORE);
        MPI_Send(first, size, MPI_CHAR, 0, 0, world);
      }
    }
    note("end");
  }
  MPI_Finalize();
  return 0;
}
