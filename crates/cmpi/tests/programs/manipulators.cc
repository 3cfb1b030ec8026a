// Streams of C++ keep their state at each rank.

#include <iomanip>
#include <iostream>
#include <mpi.h>

int main(int argc, char **argv) {
  int rank;
  std::ios_base::sync_with_stdio(argc < 2);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::cout << std::hex << std::setprecision(2) << std::fixed;
    std::cerr << std::hex;
    std::clog << std::hex;
    std::wcout << std::hex;
    std::wcerr << std::hex;
    std::wclog << std::hex;
    std::cin.setstate(std::ios_base::failbit);
    std::wcin.setstate(std::ios_base::failbit);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  bool is_hex = false;
  for (const std::ios_base *stream :
       {static_cast<std::ios_base *>(&std::cerr), static_cast<std::ios_base *>(&std::clog),
        static_cast<std::ios_base *>(&std::wcout), static_cast<std::ios_base *>(&std::wcerr),
        static_cast<std::ios_base *>(&std::wclog)})
    is_hex = is_hex || (stream->flags() & std::ios_base::hex) != 0;
  if (rank == 1) {
    std::cout << 255 << " " << 3.14159265 << " " << is_hex << std::cin.fail() << std::wcin.fail();
    std::cout << (std::cin.tie() == &std::cout) << (std::cerr.tie() == &std::cout) << std::endl;
    std::cerr << "logged" << std::endl;
  }
  MPI_Finalize();
}
