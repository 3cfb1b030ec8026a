/* Datatypes of a program: vectors, indexed blocks, structures, parts of arrays, pairs with gaps, packed messages.
   Prints their sizes and bounds, and "ok" or the first difference. */

#include <complex.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMM MPI_COMM_WORLD
enum { ROWS = 6, COLUMNS = 5 };

struct particle {
  double place[3];
  int number;
  char kind;
};

static int rank, ranks;

static void expect(const char *what, long found, long expected) {
  if (found == expected)
    return;
  printf("rank %d: %s is %ld, expected %ld\n", rank, what, found, expected);
  exit(1);
}

static void describe(const char *name, MPI_Datatype type) {
  MPI_Aint lower, extent, true_lower, true_extent;
  int size;
  MPI_Type_size(type, &size);
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  if (rank == 0)
    printf("%s: %d bytes, from %ld for %ld, data from %ld for %ld\n", name, size, (long)lower, (long)extent,
           (long)true_lower, (long)true_extent);
}

static void matrix(void) {
  int all[ROWS][COLUMNS], got[ROWS][COLUMNS], column[ROWS], count, elements, next = (rank + 1) % ranks,
                                                                             previous = (rank + ranks - 1) % ranks;
  int sizes[2] = {ROWS, COLUMNS}, parts[2] = {2, 3}, starts[2] = {1, 2};
  MPI_Datatype vector, resized, part, transposed, copy;
  MPI_Status status;
  for (int i = 0; i < ROWS * COLUMNS; i++)
    (&all[0][0])[i] = 100 * rank + i;
  memset(got, -1, sizeof got);
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  describe("a column", vector);
  MPI_Sendrecv(&all[0][1], 1, vector, next, 1, column, ROWS, MPI_INT, previous, 1, COMM, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Get_count(&status, vector, &elements);
  expect("count", count, ROWS);
  expect("count of columns", elements, 1);
  for (int i = 0; i < ROWS; i++)
    expect("a value of the column", column[i], 100 * previous + COLUMNS * i + 1);
  /* Two columns side by side: the extent is that of an element. */
  MPI_Type_create_resized(vector, 0, sizeof(int), &resized);
  MPI_Type_commit(&resized);
  describe("columns", resized);
  MPI_Sendrecv(all, COLUMNS * ROWS, MPI_INT, next, 2, got, COLUMNS, resized, previous, 2, COMM, &status);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      expect("a value of the transposed", got[i][j], 100 * previous + ROWS * j + i);
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &part);
  MPI_Type_commit(&part);
  describe("a part", part);
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &transposed);
  describe("a part in Fortran's order", transposed);
  memset(got, -1, sizeof got);
  MPI_Sendrecv(all, 1, part, next, 3, got, 1, part, previous, 3, COMM, &status);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      int is_inside = i >= 1 && i < 3 && j >= 2;
      expect("a value of the part", got[i][j], is_inside ? 100 * previous + COLUMNS * i + j : -1);
    }
  MPI_Type_dup(part, &copy);
  describe("a copy", copy);
  MPI_Type_free(&copy);
  MPI_Type_free(&transposed);
  MPI_Type_free(&part);
  MPI_Type_free(&resized);
  MPI_Type_free(&vector);
}

static void structures(void) {
  struct particle own[3], got[3];
  int lengths[3] = {3, 1, 1}, next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks, count;
  MPI_Aint places[3] = {offsetof(struct particle, place), offsetof(struct particle, number),
                        offsetof(struct particle, kind)};
  MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, particle, absolute;
  MPI_Request request;
  MPI_Status status;
  MPI_Type_create_struct(3, lengths, places, types, &particle);
  MPI_Type_commit(&particle);
  describe("a structure", particle);
  memset(own, 0, sizeof own);
  memset(got, 0, sizeof got);
  for (int i = 0; i < 3; i++) {
    own[i].place[2] = rank + 0.5 * i;
    own[i].number = 10 * rank + i;
    own[i].kind = 'a' + i;
  }
  MPI_Irecv(got, 3, particle, previous, 4, COMM, &request);
  MPI_Send(own, 2, particle, next, 4, COMM);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, particle, &count);
  expect("count of structures", count, 2);
  for (int i = 0; i < 3; i++) {
    expect("number", got[i].number, i < 2 ? 10 * previous + i : 0);
    expect("kind", got[i].kind, i < 2 ? 'a' + i : 0);
    expect("place", (long)(2 * got[i].place[2]), i < 2 ? 2 * previous + i : 0);
  }
  /* Relative to MPI_BOTTOM. */
  MPI_Get_address(&own[2].number, &places[0]);
  MPI_Get_address(&own[0].number, &places[1]);
  lengths[0] = 1;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  int pair[2];
  MPI_Sendrecv(MPI_BOTTOM, 1, absolute, next, 5, pair, 2, MPI_INT, previous, 5, COMM, &status);
  expect("the last number", pair[0], 10 * previous + 2);
  expect("the first number", pair[1], 10 * previous);
  MPI_Type_free(&absolute);
  MPI_Type_free(&particle);
}

static void collectives(void) {
  struct {
    short value;
    int index;
  } own = {(short)(rank % 3), rank}, all[16];
  int lengths[2] = {1, 2}, places[2] = {3, 0}, values[4] = {rank, rank + 1, rank + 2, rank + 3}, packed[3 * 16];
  MPI_Datatype indexed;
  memset(all, 0, sizeof all);
  MPI_Gather(&own, 1, MPI_SHORT_INT, all, 1, MPI_SHORT_INT, 0, COMM);
  for (int i = 0; rank == 0 && i < ranks; i++) {
    expect("the value of a pair", all[i].value, i % 3);
    expect("the index of a pair", all[i].index, i);
  }
  MPI_Type_indexed(2, lengths, places, MPI_INT, &indexed);
  MPI_Type_commit(&indexed);
  describe("indexed blocks", indexed);
  MPI_Allgather(values, 1, indexed, packed, 3, MPI_INT, COMM);
  for (int i = 0; i < ranks; i++) {
    expect("the first of blocks", packed[3 * i], i + 3);
    expect("the second of blocks", packed[3 * i + 1], i);
  }
  char buffer[64];
  int position = 0, size, got[4] = {-1, -1, -1, -1};
  double number = 0.25, back = 0;
  MPI_Pack(values, 1, indexed, buffer, sizeof buffer, &position, COMM);
  MPI_Pack(&number, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, COMM);
  MPI_Pack_size(1, indexed, COMM, &size);
  expect("the size of a packed element", size, 12);
  expect("the length of a packed message", position, 20);
  MPI_Bcast(buffer, position, MPI_PACKED, ranks - 1, COMM);
  position = 0;
  MPI_Unpack(buffer, sizeof buffer, &position, got, 1, indexed, COMM);
  MPI_Unpack(buffer, sizeof buffer, &position, &back, 1, MPI_DOUBLE, COMM);
  expect("an unpacked value", got[3], ranks + 2);
  expect("a gap", got[2], -1);
  expect("an unpacked number", (long)(4 * back), 1);
  MPI_Type_free(&indexed);
}

/* Rank i gives rank j one element of type j % 2: a pair of integers with a gap, or a double. */
static void exchange(void) {
  struct {
    int pair[3];
    double number;
  } given[16], got[16];
  int counts[16], places[16], in_places[16], round;
  MPI_Datatype types[16], in_types[16], gap;
  MPI_Request request;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gap);
  MPI_Type_commit(&gap);
  for (int i = 0; i < ranks; i++) {
    char *own = rank % 2 ? (char *)&got[i].number : (char *)got[i].pair;
    char *other = i % 2 ? (char *)&given[i].number : (char *)given[i].pair;
    counts[i] = 1;
    types[i] = i % 2 ? MPI_DOUBLE : gap;
    places[i] = (int)(other - (char *)given);
    in_types[i] = rank % 2 ? MPI_DOUBLE : gap;
    in_places[i] = (int)(own - (char *)got);
    given[i].pair[0] = 10 * rank + i;
    given[i].pair[2] = 20 * rank + i;
    given[i].number = rank + 0.5 * i;
  }
  for (round = 0; round < 3; round++) {
    memset(got, 0, sizeof got);
    if (round == 0)
      MPI_Alltoallw(given, counts, places, types, got, counts, in_places, in_types, COMM);
    else if (round == 1)
      MPI_Ialltoallw(given, counts, places, types, got, counts, in_places, in_types, COMM, &request);
    else
      MPI_Alltoallw_init(given, counts, places, types, got, counts, in_places, in_types, COMM, MPI_INFO_NULL, &request);
    if (round == 2)
      MPI_Start(&request);
    if (round > 0)
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ranks; i++) {
      expect("a first integer", got[i].pair[0], rank % 2 ? 0 : 10 * i + rank);
      expect("a gap", got[i].pair[1], 0);
      expect("a second integer", got[i].pair[2], rank % 2 ? 0 : 20 * i + rank);
      expect("a double", (long)(2 * got[i].number), rank % 2 ? 2 * i + rank : 0);
    }
  }
  MPI_Request_free(&request);
  MPI_Type_free(&gap);
  double complex own = rank + 1 + I, sum, product;
  MPI_Allreduce(&own, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, COMM);
  expect("the real part of a sum", (long)creal(sum), ranks * (ranks + 1) / 2);
  expect("the imaginary part of a sum", (long)cimag(sum), ranks);
  own = I;
  MPI_Allreduce(&own, &product, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, COMM);
  expect("a power of the imaginary unit", (long)creal(product), ranks % 4 == 0 ? 1 : ranks % 4 == 2 ? -1 : 0);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_size(COMM, &ranks);
  if (argc > 1) {
    MPI_Datatype vector;
    MPI_Type_contiguous(2, MPI_INT, &vector);
    MPI_Send(&rank, 1, vector, 0, 0, COMM);
  }
  matrix();
  structures();
  collectives();
  exchange();
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
