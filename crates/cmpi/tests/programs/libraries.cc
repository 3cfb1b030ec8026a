// A program with libraries of its own, of which each rank has a copy.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

extern "C" int first_sum(int), first_local_value(void), first_shared, *first_pointer, second_sent;

int main(int argc, char **argv) {
  int rank, size, got = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && rank == 1) first_sum(-2);
  first_shared += rank;
  int sum = first_sum(rank);
  if (rank > 0) MPI_Send(&sum, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD);
  if (rank < size - 1) MPI_Recv(&got, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  bool is_caught = false;
  try {
    first_sum(-1);
  } catch (const std::runtime_error &) {
    is_caught = true;
  }
  std::printf("%d: sum %d, shared %d, sent %d, local %d, caught %d\n", rank, sum, *first_pointer, second_sent,
              first_local_value(), is_caught);
  return MPI_Finalize();
}
