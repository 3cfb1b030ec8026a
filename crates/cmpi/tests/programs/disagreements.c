/* Arguments of collective calls in which the ranks disagree. The first argument selects a mistake;
 * without, all calls are right. */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define INT MPI_INT

static int rank, ranks;
static const char *mistake;

/* Returns true at the last rank if the mistake has this name. */
static int errs(const char *name) { return strcmp(mistake, name) == 0 && rank == ranks - 1; }

/* The buffer of the contribution, with MPI_IN_PLACE at the last rank. */
static void *given(const char *name, int *own) { return errs(name) ? MPI_IN_PLACE : own; }

static void in_place(void) {
  int own[16] = {0}, all[16] = {0}, counts[4] = {1, 1, 1, 1}, places[4] = {0, 1, 2, 3};
  MPI_Datatype types[4] = {INT, INT, INT, INT};
  MPI_Request request;
  MPI_Allreduce(given("allreduce", own), all, 1, INT, MPI_SUM, WORLD);
  MPI_Iallreduce(given("iallreduce", own), all, 1, INT, MPI_SUM, WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Allgather(given("allgather", own), 1, INT, all, 1, INT, WORLD);
  MPI_Allgatherv(given("allgatherv", own), 1, INT, all, counts, places, INT, WORLD);
  MPI_Alltoall(given("alltoall", own), 1, INT, all, 1, INT, WORLD);
  MPI_Alltoallv(given("alltoallv", own), counts, places, INT, all, counts, places, INT, WORLD);
  places[1] = sizeof(int), places[2] = 2 * sizeof(int), places[3] = 3 * sizeof(int);
  MPI_Alltoallw(given("alltoallw", own), counts, places, types, all, counts, places, types, WORLD);
  MPI_Reduce_scatter_block(given("reduce_scatter_block", own), all, 1, INT, MPI_SUM, WORLD);
  MPI_Allreduce(MPI_IN_PLACE, all, 1, INT, MPI_SUM, WORLD);
  MPI_Alltoall(MPI_IN_PLACE, 1, INT, all, 1, INT, WORLD);
  /* Here each rank decides by itself. */
  void *some = rank ? MPI_IN_PLACE : own;
  MPI_Scan(some, all, 1, INT, MPI_SUM, WORLD);
  MPI_Exscan(some, all, 1, INT, MPI_SUM, WORLD);
  MPI_Reduce_scatter(some, all, counts, INT, MPI_SUM, WORLD);
  MPI_Reduce(rank ? own : MPI_IN_PLACE, all, 1, INT, MPI_SUM, 0, WORLD);
}

static void topologies(void) {
  int dims[2] = {ranks, 1}, others[2] = {1, ranks}, none[2] = {0, 0}, periods[2] = {0, 1};
  int keep[2] = {1, 0}, drop[2] = {0, 1};
  MPI_Comm grid, part, graph;
  if (!errs("kind"))
    MPI_Cart_create(WORLD, 2, errs("dims") ? others : dims, errs("periods") ? none : periods,
                    errs("reorder"), &grid);
  else
    MPI_Comm_split(WORLD, 0, 0, &grid);
  MPI_Cart_sub(grid, errs("remain_dims") ? drop : keep, &part);
  MPI_Comm_free(&part);
  MPI_Comm_free(&grid);
  int ends[4] = {2, 3, 4, 4}, edges[4] = {0, 1, 0, 1};
  if (errs("edges"))
    edges[1] = 0;
  MPI_Graph_create(WORLD, ranks, ends, edges, 0, &graph);
  MPI_Comm_free(&graph);
  MPI_Info info = MPI_INFO_NULL;
  if (errs("info")) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "a", "b");
  }
  MPI_Dist_graph_create_adjacent(WORLD, 1, &rank, MPI_UNWEIGHTED, 1, &rank, MPI_UNWEIGHTED, info,
                                 errs("adjacent"), &graph);
  MPI_Comm_free(&graph);
  MPI_Dist_graph_create(WORLD, 1, &rank, (int[]){1}, &rank,
                        errs("weights") ? (int[]){1} : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Comm_free(&graph);
}

static void neighbors(void) {
  int own[8] = {0}, all[8], one[2] = {1, 1}, places[2] = {0, 2}, more[2] = {1, 2}, none[2] = {1, 0};
  float numbers[8];
  MPI_Comm ring, line;
  MPI_Cart_create(WORLD, 1, &ranks, (int[]){1}, 0, &ring);
  MPI_Cart_create(WORLD, 1, &ranks, (int[]){0}, 0, &line);
  MPI_Neighbor_allgather(own, 1, INT, all, errs("longer") ? 2 : 1, INT, ring);
  MPI_Neighbor_allgather(own, errs("sends") ? 2 : 1, INT, all, 1, INT, ring);
  MPI_Neighbor_allgatherv(own, 1, INT, all, errs("v-longer") ? more : one, places, INT, ring);
  MPI_Neighbor_alltoall(own, 1, INT, errs("type") ? (void *)numbers : all, 1,
                        errs("type") ? MPI_FLOAT : INT, line);
  MPI_Neighbor_alltoall(own, 1, INT, all, errs("shorter") ? 0 : 1, INT, line);
  MPI_Neighbor_alltoallv(own, errs("v-more") ? more : one, places, INT, all, one, places, INT,
                         ring);
  MPI_Neighbor_alltoallv(own, errs("v-none") ? none : one, places, INT, all, one, places, INT,
                         ring);
  /* The ranks give blocks of different lengths to each other. */
  int give[2] = {rank, (rank + 1) % ranks}, get[2] = {rank, (rank + 1) % ranks};
  for (int side = 0; side < 2; side++)
    give[side] %= 2, get[side] %= 2;
  MPI_Neighbor_alltoallv(own, give, places, INT, all, get, places, INT, ring);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&line);
}

/* Neighbours that only send have no receive buffer; of two ranks, each has types of its own. */
static void uncommon_neighbors(void) {
  MPI_Comm graph, pair;
  int degree = rank > 0, root = 0, given = rank, others[] = {1, 2, 3}, number;
  float real = 0.5f;
  MPI_Dist_graph_create_adjacent(WORLD, degree, &root, MPI_UNWEIGHTED, rank ? 0 : 3, others,
                                 MPI_UNWEIGHTED, MPI_INFO_ENV, 0, &graph);
  MPI_Neighbor_allgather(&given, 1, INT, degree ? &number : NULL, 1, INT, graph);
  MPI_Neighbor_alltoall(others, 1, INT, degree ? &number : NULL, 1, INT, graph);
  MPI_Comm_free(&graph);
  MPI_Comm_split(WORLD, rank / 2, 0, &pair);
  int own = rank % 2, other = !own;
  MPI_Dist_graph_create_adjacent(pair, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  if (own)
    MPI_Neighbor_allgather(&real, 1, MPI_FLOAT, &number, 1, INT, graph);
  else
    MPI_Neighbor_allgather(&given, 1, INT, &real, 1, MPI_FLOAT, graph);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&pair);
}

static void communicators(void) {
  MPI_Comm half, inter, merged, node;
  int is_upper = rank >= 2, leader = errs("local_leader");
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_split(WORLD, is_upper, 0, &half);
  MPI_Intercomm_create(half, leader, WORLD, is_upper ? 0 : 2, 5, &inter);
  /* The groups may give different values. */
  MPI_Intercomm_merge(inter, errs("high") ? !is_upper : is_upper, &merged);
  int type = errs("split_type") ? MPI_COMM_TYPE_HW_GUIDED : MPI_COMM_TYPE_SHARED;
  MPI_Comm_free(&merged);
  MPI_Comm_split_type(WORLD, type, 0, MPI_INFO_NULL, &node);
  MPI_Comm_free(&node);
  MPI_Comm_split_type(WORLD, rank ? MPI_UNDEFINED : type, 0, MPI_INFO_NULL, &node);
  if (node != MPI_COMM_NULL)
    MPI_Comm_free(&node);
  int number = 0;
  if (errs("idup"))
    MPI_Ibcast(&number, 0, INT, 0, WORLD, &request);
  else
    MPI_Comm_idup(WORLD, &merged, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void windows(void) {
  int *base, own[2];
  MPI_Win window;
  if (errs("win_create"))
    MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, WORLD, &window);
  else
    MPI_Win_allocate(sizeof own, 1, MPI_INFO_NULL, WORLD, &base, &window);
  MPI_Win_free(&window);
}

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &ranks);
  mistake = count > 1 ? arguments[1] : "";
  in_place();
  topologies();
  neighbors();
  uncommon_neighbors();
  communicators();
  windows();
  MPI_Finalize();
  return 0;
}
