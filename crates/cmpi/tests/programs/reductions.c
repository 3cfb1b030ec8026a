/* Reductions of long double, of pairs and of complex numbers: prints "ok", or the first difference. */

#include <complex.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COMM MPI_COMM_WORLD

static int rank, ranks;

static void expect(const char *what, int is_right) {
  if (is_right)
    return;
  printf("rank %d: wrong: %s\n", rank, what);
  exit(1);
}

#define PAIR(name, type, index, handle)                                                            \
  static void name(void) {                                                                         \
    struct {                                                                                       \
      type value;                                                                                  \
      index at;                                                                                    \
    } own[2] = {{(type)(rank / 2), (index)rank}, {(type)(-rank), (index)(100 + rank)}}, found[2];  \
    MPI_Allreduce(own, found, 2, handle, MPI_MAXLOC, COMM);                                        \
    expect(#name ": the first of the greatest", found[0].value == (type)((ranks - 1) / 2));        \
    expect(#name ": its index", found[0].at == (index)((ranks - 1) / 2 * 2));                      \
    expect(#name ": the greatest", found[1].value == (type)0 && found[1].at == (index)100);        \
    MPI_Allreduce(own, found, 2, handle, MPI_MINLOC, COMM);                                        \
    expect(#name ": the first of the least", found[0].value == (type)0 && found[0].at == (index)0);\
    expect(#name ": the least", found[1].value == (type)(1 - ranks));                              \
    expect(#name ": the index of the least", found[1].at == (index)(99 + ranks));                  \
  }

PAIR(float_int, float, int, MPI_FLOAT_INT)
PAIR(double_int, double, int, MPI_DOUBLE_INT)
PAIR(long_int, long, int, MPI_LONG_INT)
PAIR(two_int, int, int, MPI_2INT)
PAIR(short_int, short, int, MPI_SHORT_INT)
PAIR(long_double_int, long double, int, MPI_LONG_DOUBLE_INT)

static void long_double(void) {
  long double own[2] = {rank + 0.1L, -1.0L - rank}, found[2], sum[2] = {0, 0}, product[2] = {1, 1};
  for (int i = 0; i < ranks; i++) {
    sum[0] += i + 0.1L, sum[1] += -1.0L - i;
    product[0] *= i + 0.1L, product[1] *= -1.0L - i;
  }
  MPI_Allreduce(own, found, 2, MPI_LONG_DOUBLE, MPI_SUM, COMM);
  expect("the sum", found[0] - sum[0] < 1e-17L && sum[0] - found[0] < 1e-17L && found[1] == sum[1]);
  MPI_Allreduce(own, found, 2, MPI_LONG_DOUBLE, MPI_PROD, COMM);
  expect("the product", found[1] == product[1]);
  MPI_Allreduce(own, found, 2, MPI_LONG_DOUBLE, MPI_MAX, COMM);
  expect("the greatest", found[0] == ranks - 1 + 0.1L && found[1] == -1.0L);
  MPI_Allreduce(own, found, 2, MPI_LONG_DOUBLE, MPI_MIN, COMM);
  expect("the least", found[0] == 0.1L && found[1] == -1.0L * ranks);
}

static void complex_numbers(void) {
  long double complex own = rank + 1 + I * (2.0L - rank), found, sum = 0, product = 1;
  for (int i = 0; i < ranks; i++) {
    sum += i + 1 + I * (2.0L - i);
    product *= i + 1 + I * (2.0L - i);
  }
  MPI_Allreduce(&own, &found, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, COMM);
  expect("the complex sum", found == sum);
  MPI_Allreduce(&own, &found, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_PROD, COMM);
  expect("the complex product", found == product);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_size(COMM, &ranks);
  float_int();
  double_int();
  long_int();
  two_int();
  short_int();
  long_double_int();
  long_double();
  complex_numbers();
  MPI_Barrier(COMM);
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
