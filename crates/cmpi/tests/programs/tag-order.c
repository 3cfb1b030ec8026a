/* Rank 0 receives messages of ranks 1 and 2 with several tags: in an order that depends on the
 * order of tags or not, by the argument. */

#include <mpi.h>
#include <string.h>

static int value;
static MPI_Status status;

static void receive(int source, int tag) {
  MPI_Recv(&value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &status);
}

static void send(int destination, int tag) {
  MPI_Send(&value, 1, MPI_INT, destination, tag, MPI_COMM_WORLD);
}

/* The first message of rank 2 could come last: then the second receive gets the one of rank 1. */
static void overtake(int rank) {
  if (rank == 0) {
    MPI_Request first;
    int other;
    MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &first);
    receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
    receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
    MPI_Wait(&first, &status);
  } else {
    if (rank == 2)
      send(0, 1);
    send(0, 0);
  }
}

/* The receive from any source could get the message of rank 1. */
static void pass_over(int rank) {
  if (rank == 0) {
    receive(2, 0);
    send(1, 0);
    receive(MPI_ANY_SOURCE, 1);
    receive(MPI_ANY_SOURCE, 1);
  } else if (rank == 1) {
    receive(0, 0);
    send(0, 1);
  } else {
    MPI_Request first;
    MPI_Isend(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &first);
    send(0, 0);
    MPI_Wait(&first, &status);
  }
}

/* The second message of each rank follows the first one. */
static void follow(int rank) {
  for (int i = 0; rank == 0 && i < 2; i++) {
    receive(MPI_ANY_SOURCE, 1);
    receive(status.MPI_SOURCE, 2);
  }
  if (rank > 0) {
    send(0, 1);
    send(0, 2);
  }
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(argv[1], "overtake") == 0)
    overtake(rank);
  else if (strcmp(argv[1], "pass-over") == 0)
    pass_over(rank);
  else
    follow(rank);
  MPI_Finalize();
  return 0;
}
