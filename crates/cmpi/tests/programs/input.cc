// Standard input of C++: that of the process at rank 0, and empty at the others.

#include <iostream>
#include <mpi.h>
#include <string>

int main(int argc, char **argv) {
  int rank;
  std::string word, other = "nothing";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1)
    std::cin >> other;
  MPI_Barrier(MPI_COMM_WORLD);
  if (!(std::cin >> word))
    word = "end";
  // Those of C read the same.
  std::cout << rank << ": " << word << " " << other << " " << std::getchar() << std::endl;
  MPI_Finalize();
}
