// Memory of ranks in C++: strings and containers, of which parts are in the library.

#include <cassert>
#include <map>
#include <memory>
#include <mpi.h>
#include <new>
#include <sstream>
#include <string>
#include <vector>

struct alignas(128) Aligned {
  char bytes[128];
};

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::map<std::string, std::vector<double>> table;
  for (int i = 0; i < 100; i++) {
    std::string name(i, 'x');
    name += std::to_string(i) + std::string(i, 'y');
    name.insert(i / 2, "some characters that are too many for a short string");
    table[name].resize(i);
    std::ostringstream text;
    text << name << rank;
    name = text.str();
    name.shrink_to_fit();
    table[std::move(name)].push_back(rank);
  }
  assert(table.size() == 200);
  auto aligned = std::make_unique<Aligned>();
  assert(reinterpret_cast<std::size_t>(aligned.get()) % 128 == 0);
  std::unique_ptr<int[]> numbers(new (std::nothrow) int[1000]);
  assert(numbers);
  // Left to the end of the rank.
  auto *leaked = new std::vector<double>(1000, rank);
  assert(leaked->back() == rank);
  MPI_Finalize();
}
