// Streams, objects and exceptions of C++, at each rank.

#include <iostream>
#include <map>
#include <mpi.h>
#include <stdexcept>
#include <string>

static std::map<int, std::string> names{{-1, "static"}};

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  names[rank] = "own";
  std::string caught = "nothing";
  try {
    MPI_Barrier(MPI_COMM_WORLD);
    throw std::runtime_error("error " + std::to_string(rank));
  } catch (const std::exception &error) {
    // Other ranks throw and catch meanwhile.
    MPI_Barrier(MPI_COMM_WORLD);
    caught = error.what();
  }
  std::cout << rank << ": " << names.size() << " names, caught " << caught << std::endl;
  MPI_Finalize();
  if (argc > 1 && rank == 1)
    throw std::runtime_error("nobody catches this");
}
