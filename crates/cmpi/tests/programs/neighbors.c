/* Topologies of graphs and collectives between neighbours: prints "ok", or the first difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COMM MPI_COMM_WORLD

static int rank, ranks;

static void expect(const char *what, long found, long expected) {
  if (found == expected)
    return;
  printf("rank %d: %s is %ld, expected %ld\n", rank, what, found, expected);
  exit(1);
}

/* A line of all ranks: null processes at its ends. */
static void line(void) {
  int dims[1] = {ranks}, periods[1] = {0}, all[2] = {-1, -1}, out[2] = {2 * rank, 2 * rank + 1};
  int counts[2] = {1, 1}, places[2] = {1, 0}, rounds, map, found;
  MPI_Aint bytes[2] = {sizeof(int), 0};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Comm comm, copy;
  MPI_Request request;
  int left = rank > 0 ? rank - 1 : -1, right = rank < ranks - 1 ? rank + 1 : -1;
  MPI_Cart_map(COMM, 1, dims, periods, &map);
  expect("the place", map, rank);
  MPI_Cart_create(COMM, 1, dims, periods, 0, &comm);
  MPI_Comm_dup(comm, &copy);
  MPI_Topo_test(copy, &found);
  expect("the topology of a copy", found, MPI_CART);
  MPI_Comm_free(&comm);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, copy);
  expect("the left rank", all[0], left);
  expect("the right rank", all[1], right);
  all[0] = all[1] = -1;
  MPI_Ineighbor_allgatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("the left rank behind", all[1], left);
  expect("the right rank before", all[0], right);
  all[0] = all[1] = -1;
  MPI_Neighbor_alltoall(out, 1, MPI_INT, all, 1, MPI_INT, copy);
  expect("from the left", all[0], left < 0 ? -1 : 2 * left + 1);
  expect("from the right", all[1], right < 0 ? -1 : 2 * right);
  all[0] = all[1] = -1;
  MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, all, counts, places, MPI_INT, copy);
  expect("from the left in reverse", all[1], left < 0 ? -1 : 2 * left);
  expect("from the right in reverse", all[0], right < 0 ? -1 : 2 * right + 1);
  all[0] = all[1] = -1;
  MPI_Neighbor_alltoallw_init(out, counts, bytes, types, all, counts, bytes, types, copy, MPI_INFO_NULL, &request);
  for (rounds = 0; rounds < 2; rounds++) {
    out[0]++, out[1]++;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("by types", all[1], left < 0 ? -1 : 2 * left + 1 + rounds);
  }
  MPI_Request_free(&request);
  MPI_Comm_free(&copy);
}

/* A star: rank 0 is a neighbour of all others. */
static void star(void) {
  int index[64], edges[128], number, count, list[64], found, all[64];
  MPI_Comm comm;
  index[0] = ranks - 1;
  for (int i = 1; i < ranks; i++) {
    edges[i - 1] = i;
    index[i] = index[i - 1] + 1;
    edges[ranks - 2 + i] = 0;
  }
  MPI_Graph_map(COMM, ranks, index, edges, &found);
  expect("the place", found, rank);
  MPI_Graph_create(COMM, ranks, index, edges, 0, &comm);
  MPI_Topo_test(comm, &found);
  expect("the topology", found, MPI_GRAPH);
  MPI_Graphdims_get(comm, &number, &count);
  expect("nodes", number, ranks);
  expect("edges", count, 2 * (ranks - 1));
  MPI_Graph_neighbors_count(comm, 0, &count);
  expect("neighbours of the first", count, ranks - 1);
  MPI_Graph_neighbors(comm, ranks - 1, 64, list);
  if (ranks > 1)
    expect("the neighbour of the last", list[0], 0);
  MPI_Graph_get(comm, 64, 128, list, all);
  expect("the last index", list[ranks - 1], index[ranks - 1]);
  for (int i = 0; i < 64; i++)
    all[i] = -1;
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; rank == 0 && i < ranks - 1; i++)
    expect("gathered", all[i], i + 1);
  if (rank > 0)
    expect("the middle", all[0], 0);
  MPI_Comm_free(&comm);
}

/* A ring to the right; each rank names the edge of its left one. */
static void ring(void) {
  int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  int degree = 1, weight = 7 + left, in, out, weighted, source, target, w[2], got = -1;
  MPI_Comm comm, copy;
  MPI_Dist_graph_create(COMM, 1, &left, &degree, &rank, &weight, MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  expect("sources", in, 1);
  expect("destinations", out, 1);
  expect("has weights", weighted, 1);
  MPI_Dist_graph_neighbors(comm, 1, &source, &w[0], 1, &target, &w[1]);
  expect("the source", source, left);
  expect("the destination", target, right);
  expect("the weight", w[0], 7 + left);
  expect("the other weight", w[1], 7 + rank);
  MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &got, 1, MPI_INT, comm);
  expect("from the left", got, left);
  MPI_Comm_free(&comm);
  MPI_Dist_graph_create_adjacent(COMM, 1, &right, MPI_UNWEIGHTED, 1, &left, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  MPI_Comm_dup(comm, &copy);
  MPI_Topo_test(copy, &got);
  expect("the topology of a copy", got, MPI_DIST_GRAPH);
  MPI_Dist_graph_neighbors_count(copy, &in, &out, &weighted);
  expect("has no weights", weighted, 0);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, copy);
  expect("from the right", got, right);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_size(COMM, &ranks);
  line();
  star();
  ring();
  MPI_Barrier(COMM);
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
