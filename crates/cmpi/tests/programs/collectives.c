/* Collectives against what each rank can compute by itself: prints "ok", or the first difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static int value(int owner, int index) { return owner * 1000 + index * 7 + 1; }

static void expect(const char *call, int count, int index, int found, int expected) {
  if (found == expected)
    return;
  printf("rank %d: %s of %d elements: element %d is %d, expected %d\n", rank, call, count, index,
         found, expected);
  exit(1);
}

/* Associative, and not commutative: functions x -> a x + b, one after the other, modulo 1009. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type) {
  int *first = in, *second = inout;
  (void)type;
  for (int i = 0; i < 2 * *count; i += 2) {
    second[i + 1] = (second[i] * first[i + 1] + second[i + 1]) % 1009;
    second[i] = second[i] * first[i] % 1009;
  }
}

static void reductions(int count) {
  int *own = calloc(count + 1, sizeof *own), *result = calloc(count + 1, sizeof *own);
  for (int i = 0; i < count; i++)
    own[i] = value(rank, i);
  MPI_Allreduce(own, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) {
    int sum = 0;
    for (int owner = 0; owner < ranks; owner++)
      sum += value(owner, i);
    expect("Allreduce", count, i, result[i], sum);
  }
  memcpy(result, own, count * sizeof *own);
  MPI_Allreduce(MPI_IN_PLACE, result, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++)
    expect("Allreduce in place", count, i, result[i], value(ranks - 1, i));
  MPI_Reduce(own, result, count, MPI_INT, MPI_MIN, ranks / 2, MPI_COMM_WORLD);
  for (int i = 0; rank == ranks / 2 && i < count; i++)
    expect("Reduce", count, i, result[i], value(0, i));
  MPI_Scan(own, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) {
    int sum = 0;
    for (int owner = 0; owner <= rank; owner++)
      sum += value(owner, i);
    expect("Scan", count, i, result[i], sum);
  }
  MPI_Exscan(own, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; rank > 0 && i < count; i++) {
    int sum = 0;
    for (int owner = 0; owner < rank; owner++)
      sum += value(owner, i);
    expect("Exscan", count, i, result[i], sum);
  }
  free(own);
  free(result);
}

static void movements(int count) {
  int all = count * ranks;
  int *own = calloc(all + 1, sizeof *own), *result = calloc(all + 1, sizeof *own);
  for (int i = 0; i < all; i++)
    own[i] = value(rank, i);
  MPI_Allgather(own, count, MPI_INT, result, count, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < all; i++)
    expect("Allgather", count, i, result[i], value(i / count, i % count));
  MPI_Alltoall(own, count, MPI_INT, result, count, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < all; i++)
    expect("Alltoall", count, i, result[i], value(i / count, rank * count + i % count));
  MPI_Gather(own, count, MPI_INT, result, count, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < all; i++)
    expect("Gather", count, i, result[i], value(i / count, i % count));
  MPI_Scatter(own, count, MPI_INT, result, count, MPI_INT, ranks - 1, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++)
    expect("Scatter", count, i, result[i], value(ranks - 1, rank * count + i));
  MPI_Reduce_scatter_block(own, result, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++)
    expect("Reduce_scatter_block", count, i, result[i], value(ranks - 1, rank * count + i));
  memcpy(result, own, count * sizeof *own);
  MPI_Bcast(result, count, MPI_INT, ranks / 2, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++)
    expect("Bcast", count, i, result[i], value(ranks / 2, i));
  free(own);
  free(result);
}

/* Blocks of different lengths, with gaps between them that must not be written. */
static void blocks(int count) {
  int counts[ranks], places[ranks], end = 0;
  for (int owner = 0; owner < ranks; owner++) {
    counts[owner] = (owner + count) % 5;
    places[owner] = end + owner + 1;
    end += counts[owner];
  }
  int room = end + ranks + 2;
  int *own = calloc(room, sizeof *own), *result = malloc(room * sizeof *own);
  for (int i = 0; i < room; i++) {
    own[i] = value(rank, i);
    result[i] = -1;
  }
  MPI_Allgatherv(own, counts[rank], MPI_INT, result, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int owner = 0, i = 0; owner < ranks; owner++) {
    for (; i < places[owner]; i++)
      expect("Allgatherv, gap", count, i, result[i], -1);
    for (int n = 0; n < counts[owner]; n++, i++)
      expect("Allgatherv", count, i, result[i], value(owner, n));
  }
  MPI_Scatterv(own, counts, places, MPI_INT, result, counts[rank], MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; i++)
    expect("Scatterv", count, i, result[i], value(0, places[rank] + i));
  int to[ranks], at[ranks];
  for (int owner = 0; owner < ranks; owner++) {
    to[owner] = counts[(rank + owner) % ranks];
    at[owner] = owner == 0 ? 0 : at[owner - 1] + to[owner - 1];
  }
  MPI_Alltoallv(own, to, at, MPI_INT, result, to, at, MPI_INT, MPI_COMM_WORLD);
  for (int owner = 0; owner < ranks; owner++) {
    int before = 0;
    for (int other = 0; other < rank; other++)
      before += counts[(owner + other) % ranks];
    for (int n = 0; n < to[owner]; n++)
      expect("Alltoallv", count, n, result[at[owner] + n], value(owner, before + n));
  }
  free(own);
  free(result);
}

/* Even and odd ranks, in reverse order. */
static void communicators(void) {
  MPI_Comm half, copy;
  int place, size, sum, relation;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_dup(half, &copy);
  MPI_Comm_rank(copy, &place);
  MPI_Comm_size(copy, &size);
  expect("Comm_split", 1, 0, size, (ranks + (rank % 2 == 0)) / 2);
  expect("Comm_split", 1, 1, place, (ranks - 1 - rank) / 2);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
  expect("Allreduce of a half", 1, 0, sum, size * (size - 1) + size * (rank % 2));
  MPI_Comm_compare(half, copy, &relation);
  expect("Comm_compare", 1, 0, relation, MPI_CONGRUENT);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&half);
  expect("Comm_free", 1, 0, half == MPI_COMM_NULL, 1);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int count = 0; count < 300; count = count * 3 + 1) {
    reductions(count);
    movements(count);
    blocks(count);
  }
  communicators();
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  int pair[2] = {rank + 2, rank + 5}, result[2] = {0, 0}, expected[2] = {2, 5};
  for (int owner = 1; owner < ranks; owner++) {
    int next[2] = {owner + 2, owner + 5}, one = 1;
    compose(expected, next, &one, NULL);
    memcpy(expected, next, sizeof next);
  }
  MPI_Allreduce(pair, result, 1, MPI_2INT, op, MPI_COMM_WORLD);
  expect("an operation of the program", 1, 0, result[0], expected[0]);
  expect("an operation of the program", 1, 1, result[1], expected[1]);
  MPI_Op_free(&op);
  struct {
    double value;
    int place;
  } mine = {rank == ranks / 3 ? 9.5 : rank / 100.0, rank}, best;
  MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  expect("MPI_MAXLOC", 1, 0, best.place, ranks / 3);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("ok\n");
  MPI_Finalize();
  return 0;
}
