/* How datatypes were made, distributed arrays, the external representation and large counts: prints
   what it finds, and "ok", or the first difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMM MPI_COMM_WORLD

static int rank, ranks;

static void expect(const char *what, long found, long expected) {
  if (found == expected)
    return;
  printf("rank %d: %s is %ld, expected %ld\n", rank, what, found, expected);
  exit(1);
}

/* Prints the envelope and the contents of a datatype. */
static void show(const char *name, MPI_Datatype type) {
  int integers[32], counts[3], combiner;
  MPI_Aint addresses[8];
  MPI_Datatype types[8];
  MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &combiner);
  MPI_Type_get_contents(type, 32, 8, 8, integers, addresses, types);
  if (rank == 0) {
    printf("%s: combiner %d, integers", name, combiner);
    for (int i = 0; i < counts[0]; i++)
      printf(" %d", integers[i]);
    printf(", addresses");
    for (int i = 0; i < counts[1]; i++)
      printf(" %ld", (long)addresses[i]);
    printf(", datatypes");
  }
  for (int i = 0; i < counts[2]; i++) {
    int n[3], inner;
    MPI_Type_get_envelope(types[i], &n[0], &n[1], &n[2], &inner);
    if (rank == 0)
      printf(" %d", inner);
    if (inner != MPI_COMBINER_NAMED)
      MPI_Type_free(&types[i]);
  }
  if (rank == 0)
    puts("");
}

static void made(void) {
  int lengths[2] = {2, 1}, places[2] = {3, 0}, combiner, n[3];
  MPI_Aint bytes[2] = {24, 0};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}, vector, other;
  MPI_Type_vector(3, 1, 4, MPI_INT, &vector);
  show("vector", vector);
  types[1] = vector;
#define SHOW(name, call)                                                                           \
  call;                                                                                            \
  show(name, other);                                                                               \
  MPI_Type_free(&other)
  SHOW("contiguous", MPI_Type_contiguous(5, vector, &other));
  SHOW("hvector", MPI_Type_create_hvector(2, 3, 40, vector, &other));
  SHOW("indexed", MPI_Type_indexed(2, lengths, places, MPI_INT, &other));
  SHOW("hindexed", MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &other));
  SHOW("indexed block", MPI_Type_create_indexed_block(2, 2, places, MPI_INT, &other));
  SHOW("hindexed block", MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &other));
  SHOW("struct", MPI_Type_create_struct(2, lengths, bytes, types, &other));
  SHOW("resized", MPI_Type_create_resized(vector, -4, 80, &other));
  SHOW("dup", MPI_Type_dup(vector, &other));
  int sizes[2] = {4, 6}, part[2] = {2, 3}, start[2] = {1, 2};
  SHOW("subarray", MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, MPI_INT, &other));
  MPI_Type_get_envelope(MPI_INT, &n[0], &n[1], &n[2], &combiner);
  expect("the combiner of MPI_INT", combiner, MPI_COMBINER_NAMED);
  MPI_Type_free(&vector);
}

/* All processes of a grid of 2 x 2 together have each element of an array once. */
static void distributed(int order, int first, int second, int argument) {
  int sizes[2] = {5, 7}, kinds[2] = {first, second}, arguments[2] = {argument, MPI_DISTRIBUTE_DFLT_DARG};
  int grid[2] = {2, 2}, array[35], packed[35], seen[35], total = 0, size;
  MPI_Datatype type;
  MPI_Aint lower, extent;
  memset(seen, 0, sizeof seen);
  for (int i = 0; i < 35; i++)
    array[i] = i;
  for (int process = 0; process < 4; process++) {
    int position = 0;
    MPI_Type_create_darray(4, process, 2, sizes, kinds, arguments, grid, order, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lower, &extent);
    expect("the extent", lower * 1000 + extent, sizeof array);
    MPI_Type_size(type, &size);
    MPI_Pack(array, 1, type, packed, sizeof packed, &position, COMM);
    expect("the packed size", position, size);
    total += size / 4;
    for (int i = 0; i < size / 4; i++)
      seen[packed[i]]++;
    if (rank == 0)
      printf("process %d of order %d, %d x %d: %d elements, the last is %d\n", process, order, first, second, size / 4, packed[size / 4 - 1]);
    if (process == 3 && order == MPI_ORDER_C && first == MPI_DISTRIBUTE_BLOCK)
      show("darray", type);
    MPI_Type_free(&type);
  }
  expect("all elements", total, 35);
  for (int i = 0; i < 35; i++)
    expect("an element is there once", seen[i], 1);
}

static void external(void) {
  int numbers[3] = {1, -2, 0x01020304}, back[3];
  unsigned char packed[64];
  MPI_Aint position = 0, size;
  MPI_Pack_external_size("external32", 3, MPI_INT, &size);
  expect("the packed size", size, 12);
  MPI_Pack_external("external32", numbers, 3, MPI_INT, packed, sizeof packed, &position);
  expect("the position", position, 12);
  expect("the first byte of the last", packed[8], 1);
  expect("the last byte of the last", packed[11], 4);
  position = 0;
  MPI_Unpack_external("external32", packed, sizeof packed, &position, back, 3, MPI_INT);
  expect("the same numbers", memcmp(numbers, back, sizeof back), 0);
}

/* A message that ends in the middle of a structure. */
static void elements(void) {
  int lengths[2] = {1, 2}, count;
  MPI_Aint places[2] = {0, 8};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}, pair, many;
  MPI_Status status;
  char data[64] = {0}, in[64];
  MPI_Type_create_struct(2, lengths, places, types, &pair);
  MPI_Type_contiguous(2, pair, &many);
  MPI_Type_commit(&many);
  MPI_Sendrecv(data, 28, MPI_BYTE, rank, 1, in, 1, many, rank, 1, COMM, &status);
  MPI_Get_elements(&status, many, &count);
  expect("the elements", count, 6 - 1);
  MPI_Get_count(&status, many, &count);
  expect("no whole element", count, MPI_UNDEFINED);
  MPI_Sendrecv(data, 1, MPI_DOUBLE_INT, rank, 2, in, 2, MPI_DOUBLE_INT, rank, 2, COMM, &status);
  MPI_Get_elements(&status, MPI_DOUBLE_INT, &count);
  expect("the elements of a pair", count, 2);
  MPI_Type_free(&pair);
  MPI_Type_free(&many);
}

static void matched(void) {
  MPI_Datatype type;
  int size;
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
  MPI_Type_size(type, &size);
  expect("a real number", size, 8);
  MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type);
  MPI_Type_size(type, &size);
  expect("a short integer", size, 2);
  MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
  MPI_Type_size(type, &size);
  expect("a complex number", size, 16);
}

static void large(void) {
  int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, in[3] = {0}, out[3] = {rank, 1, 2}, sum;
  MPI_Count count, size, counts[2], n[4], lower, extent;
  MPI_Status status;
  MPI_Request request;
  MPI_Datatype type;
  int all[64], combiner;
  MPI_Irecv_c(in, (MPI_Count)3, MPI_INT, last, 1, COMM, &request);
  MPI_Send_c(out, (MPI_Count)3, MPI_INT, next, 1, COMM);
  MPI_Wait(&request, &status);
  MPI_Get_count_c(&status, MPI_INT, &count);
  expect("a large count", count, 3);
  expect("the first number", in[0], last);
  MPI_Allreduce_c(&rank, &sum, (MPI_Count)1, MPI_INT, MPI_SUM, COMM);
  expect("the sum", sum, ranks * (ranks - 1) / 2);
  MPI_Count *ones = malloc(ranks * sizeof *ones);
  MPI_Aint *places = malloc(ranks * sizeof *places);
  for (int i = 0; i < ranks; i++)
    ones[i] = 1, places[i] = ranks - 1 - i;
  MPI_Allgatherv_c(&rank, (MPI_Count)1, MPI_INT, all, ones, places, MPI_INT, COMM);
  for (int i = 0; i < ranks; i++)
    expect("gathered", all[ranks - 1 - i], i);
  free(ones);
  free(places);
  MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_INT, &type);
  MPI_Type_size_c(type, &size);
  expect("a large size", size, (long)1 << 35);
  MPI_Type_get_extent_c(type, &lower, &extent);
  expect("a large extent", extent, (long)1 << 35);
  MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
  expect("the combiner", combiner, MPI_COMBINER_CONTIGUOUS);
  expect("large counts", n[2], 1);
  MPI_Aint address;
  MPI_Datatype old;
  int integer;
  MPI_Type_get_contents_c(type, n[0], n[1], n[2], n[3], &integer, &address, counts, &old);
  expect("the large count", counts[0], (long)1 << 33);
  expect("the datatype", old == MPI_INT, 1);
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_size(COMM, &ranks);
  made();
  distributed(MPI_ORDER_C, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK, 3);
  distributed(MPI_ORDER_C, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, 2);
  distributed(MPI_ORDER_FORTRAN, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG);
  external();
  elements();
  matched();
  large();
  MPI_Barrier(COMM);
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
