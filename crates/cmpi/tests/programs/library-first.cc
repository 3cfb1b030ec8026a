// A library of a program: variables, a constructor, calls of MPI, an exception that the program catches.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>

extern "C" int second_count(void);
extern "C" {
int first_shared = 40;
int *first_pointer = &first_shared;
thread_local int first_local = 10;
}
struct Printed {
  int begun;
  Printed() : begun(second_count()) {}
  ~Printed() { std::printf("first: end, began after %d\n", begun); }
};
static Printed printed;

extern "C" int first_sum(int value) {
  int sum = 0;
  if (value == -2) *(volatile int *)nullptr = 1;
  first_local += value;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum < 0) throw std::runtime_error("a negative sum");
  return sum;
}

extern "C" int first_local_value(void) { return first_local; }
