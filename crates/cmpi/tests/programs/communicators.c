/* Communicators, groups and grids: prints "ok", or the first difference. */

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

static void groups(void) {
  MPI_Group world, even, odd, all, none, part;
  MPI_Comm made;
  int range[1][3] = {{0, ranks - 1, 2}}, size, own, result, first[2] = {0, MPI_PROC_NULL}, there[2];
  MPI_Comm_group(COMM, &world);
  MPI_Group_range_incl(world, 1, range, &even);
  MPI_Group_difference(world, even, &odd);
  MPI_Group_union(odd, even, &all);
  MPI_Group_intersection(odd, even, &none);
  MPI_Group_size(even, &size);
  expect("even ranks", size, (ranks + 1) / 2);
  MPI_Group_rank(even, &own);
  expect("the rank among them", own, rank % 2 ? MPI_UNDEFINED : rank / 2);
  MPI_Group_compare(world, all, &result);
  expect("the comparison", result, ranks < 2 ? MPI_IDENT : MPI_SIMILAR);
  expect("an empty group", none == MPI_GROUP_EMPTY, 1);
  MPI_Group_translate_ranks(all, 2, first, world, there);
  expect("the first of all", there[0], ranks < 2 ? 0 : 1);
  expect("no process", there[1], MPI_PROC_NULL);
  MPI_Group_excl(world, 1, first, &part);
  MPI_Group_size(part, &size);
  expect("all but one", size, ranks - 1);
  MPI_Comm_create(COMM, even, &made);
  expect("has a communicator", made != MPI_COMM_NULL, rank % 2 == 0);
  if (made != MPI_COMM_NULL) {
    int sum;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
    expect("the sum of even ranks", sum, ((ranks - 1) / 2) * ((ranks - 1) / 2 + 1));
    MPI_Comm_free(&made);
  }
  if (rank % 2 == 0) {
    MPI_Comm_create_group(COMM, even, 7, &made);
    MPI_Comm_size(made, &size);
    expect("its size", size, (ranks + 1) / 2);
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&world);
  MPI_Group_free(&even);
  if (odd != MPI_GROUP_EMPTY)
    MPI_Group_free(&odd);
  MPI_Group_free(&all);
  if (part != MPI_GROUP_EMPTY)
    MPI_Group_free(&part);
  expect("a freed group", even == MPI_GROUP_NULL, 1);
}

static void communicators(void) {
  MPI_Comm copy, node;
  char name[MPI_MAX_OBJECT_NAME];
  int length, value = 5, got = 0, *bound, flag, size, result;
  MPI_Comm_get_name(COMM, name, &length);
  expect("the name of the world", strcmp(name, "MPI_COMM_WORLD"), 0);
  MPI_Comm_dup(COMM, &copy);
  MPI_Comm_set_name(copy, "copy");
  MPI_Comm_get_name(copy, name, &length);
  expect("the name of the copy", strcmp(name, "copy"), 0);
  MPI_Comm_compare(COMM, copy, &result);
  expect("the comparison", result, MPI_CONGRUENT);
  MPI_Comm_free(&copy);
  MPI_Comm_get_attr(COMM, MPI_TAG_UB, &bound, &flag);
  expect("has a largest tag", flag && *bound >= 32767, 1);
  MPI_Comm_size(MPI_COMM_SELF, &size);
  expect("ranks of the own", size, 1);
  MPI_Sendrecv(&value, 1, MPI_INT, 0, 3, &got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  expect("a message to itself", got, 5);
  MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  expect("the own sum", got, rank);
  /* Odd ranks take no part. */
  MPI_Comm_split_type(COMM, rank % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  expect("has a part", node == MPI_COMM_NULL, rank % 2);
  if (node != MPI_COMM_NULL)
    MPI_Comm_free(&node);
  MPI_Comm_split_type(COMM, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  expect("has a node", size >= 1, 1);
  MPI_Comm_free(&node);
}

static void grids(void) {
  int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], found[2][2], keep[2] = {0, 1}, up, down, left, right, there, kind,
      size;
  MPI_Comm grid, row;
  MPI_Dims_create(ranks, 2, dims);
  expect("all ranks", dims[0] * dims[1], ranks);
  expect("the order of lengths", dims[0] >= dims[1], 1);
  MPI_Cart_create(COMM, 2, dims, periods, 0, &grid);
  MPI_Cart_coords(grid, rank, 2, coords);
  expect("the row", coords[0], rank / dims[1]);
  expect("the column", coords[1], rank % dims[1]);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &left, &right);
  expect("above", up, (coords[0] + dims[0] - 1) % dims[0] * dims[1] + coords[1]);
  expect("to the right", right, coords[1] + 1 < dims[1] ? rank + 1 : MPI_PROC_NULL);
  coords[0] += dims[0];
  MPI_Cart_rank(grid, coords, &there);
  expect("around", there, rank);
  MPI_Cart_get(grid, 2, found[0], found[1], coords);
  expect("the length", found[0][1], dims[1]);
  expect("periodic", found[1][0] && !found[1][1], 1);
  MPI_Cartdim_get(grid, &size);
  expect("dimensions", size, 2);
  MPI_Topo_test(grid, &kind);
  expect("the topology", kind, MPI_CART);
  MPI_Cart_sub(grid, keep, &row);
  MPI_Comm_size(row, &size);
  expect("a row", size, dims[1]);
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &there, 1, MPI_INT, left, 1, grid, MPI_STATUS_IGNORE);
  if (left != MPI_PROC_NULL)
    expect("the left one", there, left);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
  dims[0] = dims[1] = 1;
  MPI_Cart_create(COMM, 2, dims, periods, 0, &grid);
  expect("outside of the grid", grid == MPI_COMM_NULL, rank > 0);
  if (grid != MPI_COMM_NULL)
    MPI_Comm_free(&grid);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_size(COMM, &ranks);
  groups();
  communicators();
  grids();
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
