/* Calls of two ranks that do not fit together, by the first argument; without one, pairs of
 * different datatypes that do. */

#include <mpi.h>
#include <string.h>

struct mixed {
  int number;
  double value;
};

/* Sends to the other rank, and receives from it. */
static void exchange(void *from, int count, MPI_Datatype sent, void *to, int room,
                     MPI_Datatype received) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Sendrecv(from, count, sent, 1 - rank, 0, to, room, received, 1 - rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void matching(void) {
  double numbers[8] = {0}, others[8];
  struct mixed pair = {0}, other;
  MPI_Datatype column, three, parts;
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, sizeof(double)};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &column);
  MPI_Type_contiguous(3, MPI_DOUBLE, &three);
  MPI_Type_create_struct(2, lengths, places, types, &parts);
  MPI_Type_commit(&column);
  MPI_Type_commit(&three);
  MPI_Type_commit(&parts);
  exchange(numbers, 1, column, others, 1, three);
  exchange(numbers, 3, MPI_DOUBLE, others, 1, column);
  exchange(&pair, 1, parts, &other, 1, parts);
  exchange(numbers, 8, MPI_BYTE, others, 8, MPI_BYTE);
  exchange(numbers, 0, MPI_INT, others, 8, MPI_DOUBLE);
  MPI_Type_free(&column);
  MPI_Type_free(&three);
  MPI_Type_free(&parts);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int rank, numbers[4] = {0}, others[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(mode, "") == 0)
    matching();
  else if (strcmp(mode, "element") == 0)
    exchange(numbers, 4, MPI_INT, others, 4, MPI_FLOAT);
  else if (strcmp(mode, "vector") == 0) {
    MPI_Datatype pair;
    MPI_Type_vector(2, 1, 2, MPI_LONG, &pair);
    MPI_Type_commit(&pair);
    double values[4], room[4];
    exchange(values, 2, MPI_DOUBLE, room, 1, pair);
  } else if (strcmp(mode, "kind") == 0) {
    if (rank == 0)
      MPI_Barrier(MPI_COMM_WORLD);
    else
      MPI_Allreduce(numbers, others, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(mode, "root") == 0)
    MPI_Bcast(numbers, 1, MPI_INT, rank, MPI_COMM_WORLD);
  else if (strcmp(mode, "op") == 0)
    MPI_Allreduce(numbers, others, 1, MPI_INT, rank ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
  else if (strcmp(mode, "type") == 0)
    MPI_Bcast(numbers, 1, rank ? MPI_INT : MPI_FLOAT, 0, MPI_COMM_WORLD);
  else if (strcmp(mode, "count") == 0)
    MPI_Reduce(numbers, others, 1 + rank, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
