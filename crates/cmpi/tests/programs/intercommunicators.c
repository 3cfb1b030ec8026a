/* Intercommunicators: messages and collectives between the even and the odd ranks. Prints "ok", or
   the first difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COMM MPI_COMM_WORLD
#define MAX 64

static int rank, ranks, own, size, others, is_odd;
static MPI_Comm inter;

static void expect(const char *what, long found, long expected) {
  if (found == expected)
    return;
  printf("rank %d: %s is %ld, expected %ld\n", rank, what, found, expected);
  exit(1);
}

/* The rank in the world of a rank of the other group. */
static int world(int other) { return 2 * other + !is_odd; }

static void messages(void) {
  int peer = own < others ? own : MPI_PROC_NULL, in = -1, out = rank, flag, count;
  MPI_Status status;
  MPI_Request list[2];
  MPI_Sendrecv(&out, 1, MPI_INT, peer, 1, &in, 1, MPI_INT, peer, 1, inter, &status);
  if (peer != MPI_PROC_NULL) {
    expect("what came", in, world(peer));
    expect("the source", status.MPI_SOURCE, peer);
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 2, inter, &list[0]);
    MPI_Issend(&out, 1, MPI_INT, peer, 2, inter, &list[1]);
    MPI_Wait(&list[0], &status);
    expect("the source of any", status.MPI_SOURCE, peer);
    MPI_Wait(&list[1], MPI_STATUS_IGNORE);
    MPI_Isend(&out, 1, MPI_INT, peer, 3, inter, &list[0]);
    MPI_Probe(peer, 3, inter, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect("a probed message", count, 1);
    MPI_Recv(&in, 1, MPI_INT, peer, 3, inter, MPI_STATUS_IGNORE);
    MPI_Wait(&list[0], MPI_STATUS_IGNORE);
  }
  MPI_Comm_test_inter(inter, &flag);
  expect("is between groups", flag, 1);
  MPI_Comm_test_inter(COMM, &flag);
  expect("is not between groups", flag, 0);
}

static int sum_of(int odd) {
  int sum = 0;
  for (int i = odd; i < ranks; i += 2)
    sum += i;
  return sum;
}

static void rooted(void) {
  /* Rank 0 of the even ranks is the root. */
  int root = is_odd ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL;
  int value = root == MPI_ROOT ? 42 : -1, all[MAX], counts[MAX], places[MAX];
  MPI_Bcast(&value, 1, MPI_INT, root, inter);
  if (is_odd)
    expect("broadcast", value, 42);
  value = -1;
  MPI_Reduce(&rank, &value, 1, MPI_INT, MPI_SUM, root, inter);
  expect("the sum", value, root == MPI_ROOT ? sum_of(1) : -1);
  MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, inter);
  for (int i = 0; root == MPI_ROOT && i < others; i++)
    expect("gathered", all[i], world(i));
  for (int i = 0; i < others; i++)
    all[i] = 100 + i;
  MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, root, inter);
  if (is_odd)
    expect("scattered", value, 100 + own);
  for (int i = 0; i < others; i++)
    counts[i] = 1, places[i] = others - 1 - i;
  MPI_Gatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, root, inter);
  for (int i = 0; root == MPI_ROOT && i < others; i++)
    expect("gathered in reverse", all[others - 1 - i], world(i));
  MPI_Scatterv(all, counts, places, MPI_INT, &value, 1, MPI_INT, root, inter);
  if (is_odd)
    expect("scattered in reverse", value, rank);
}

static void everywhere(void) {
  int value = -1, all[MAX], out[MAX], counts[MAX], places[MAX], mine[MAX], result[MAX];
  MPI_Barrier(inter);
  MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, inter);
  expect("the sum of the others", value, sum_of(!is_odd));
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int i = 0; i < others; i++)
    expect("all gathered", all[i], world(i));
  for (int i = 0; i < others; i++)
    counts[i] = 1, places[i] = others - 1 - i, out[i] = 1000 * rank + i;
  MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, inter);
  for (int i = 0; i < others; i++)
    expect("all gathered in reverse", all[others - 1 - i], world(i));
  MPI_Alltoall(out, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int i = 0; i < others; i++)
    expect("exchanged", all[i], 1000 * world(i) + own);
  MPI_Alltoallv(out, counts, places, MPI_INT, all, counts, places, MPI_INT, inter);
  for (int i = 0; i < others; i++)
    expect("exchanged in reverse", all[others - 1 - i], 1000 * world(i) + size - 1 - own);
  /* Both groups give as many elements: as many as both have ranks, several times over. */
  int each = others;
  for (int i = 0; i < size; i++)
    mine[i] = each;
  int *give = malloc(sizeof(int) * size * others);
  for (int i = 0; i < size * others; i++)
    give[i] = rank;
  MPI_Reduce_scatter(give, result, mine, MPI_INT, MPI_SUM, inter);
  for (int i = 0; i < each; i++)
    expect("reduced and scattered", result[i], sum_of(!is_odd));
  MPI_Reduce_scatter_block(give, result, each, MPI_INT, MPI_SUM, inter);
  for (int i = 0; i < each; i++)
    expect("reduced and scattered in blocks", result[i], sum_of(!is_odd));
  free(give);
}

/* Calls that do not wait, several at a time, and persistent ones. */
static void started(void) {
  int root = is_odd ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL;
  int is_root = root == MPI_ROOT, in[MAX], at_root[MAX], other[MAX], out[MAX], counts[MAX], places[MAX];
  int data, part, sum, total;
  enum { CALLS = 8 };
  MPI_Request list[CALLS];
  for (int form = 0; form < 3; form++) {
    for (int i = 0; i < others; i++)
      out[i] = 1000 * rank + i, counts[i] = 1, places[i] = others - 1 - i;
    data = is_root ? 42 + form : -1;
    part = sum = total = -1;
    if (form == 0) {
      MPI_Ibarrier(inter, &list[0]);
      MPI_Ibcast(&data, 1, MPI_INT, root, inter, &list[1]);
      MPI_Igather(&rank, 1, MPI_INT, at_root, 1, MPI_INT, root, inter, &list[2]);
      MPI_Iscatter(out, 1, MPI_INT, &part, 1, MPI_INT, root, inter, &list[3]);
      MPI_Ireduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, inter, &list[4]);
      MPI_Iallreduce(&rank, &total, 1, MPI_INT, MPI_SUM, inter, &list[5]);
      MPI_Iallgatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, inter, &list[6]);
      MPI_Ialltoall(out, 1, MPI_INT, other, 1, MPI_INT, inter, &list[7]);
    } else if (form == 1) {
      MPI_Barrier_init(inter, MPI_INFO_NULL, &list[0]);
      MPI_Bcast_init(&data, 1, MPI_INT, root, inter, MPI_INFO_NULL, &list[1]);
      MPI_Gather_init(&rank, 1, MPI_INT, at_root, 1, MPI_INT, root, inter, MPI_INFO_NULL, &list[2]);
      MPI_Scatter_init(out, 1, MPI_INT, &part, 1, MPI_INT, root, inter, MPI_INFO_NULL, &list[3]);
      MPI_Reduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, root, inter, MPI_INFO_NULL, &list[4]);
      MPI_Allreduce_init(&rank, &total, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &list[5]);
      MPI_Allgatherv_init(&rank, 1, MPI_INT, in, counts, places, MPI_INT, inter, MPI_INFO_NULL, &list[6]);
      MPI_Alltoall_init(out, 1, MPI_INT, other, 1, MPI_INT, inter, MPI_INFO_NULL, &list[7]);
      MPI_Startall(CALLS, list);
    } else {
      /* The same ones once more. */
      MPI_Startall(CALLS, list);
    }
    MPI_Waitall(CALLS, list, MPI_STATUSES_IGNORE);
    expect("started: broadcast", data, is_odd || is_root ? 42 + form : -1);
    expect("started: the sum", sum, is_root ? sum_of(1) : -1);
    expect("started: the sum of the others", total, sum_of(!is_odd));
    expect("started: scattered", part, is_odd ? own : -1);
    for (int i = 0; i < others; i++) {
      expect("started: gathered in reverse", in[others - 1 - i], world(i));
      expect("started: exchanged", other[i], 1000 * world(i) + own);
      if (is_root)
        expect("started: gathered", at_root[i], world(i));
    }
  }
  for (int i = 0; i < CALLS; i++)
    MPI_Request_free(&list[i]);
}

int main(int argc, char **argv) {
  MPI_Comm half, merged, copy;
  MPI_Group group;
  int found, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_size(COMM, &ranks);
  if (ranks > 1) {
    is_odd = rank % 2;
    MPI_Comm_split(COMM, is_odd, 0, &half);
    MPI_Intercomm_create(half, 0, COMM, !is_odd, 9, &inter);
    MPI_Comm_rank(inter, &own);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &others);
    expect("the rank", own, rank / 2);
    expect("all ranks", size + others, ranks);
    MPI_Comm_remote_group(inter, &group);
    MPI_Group_size(group, &found);
    expect("the other group", found, others);
    MPI_Group_free(&group);
    messages();
    rooted();
    everywhere();
    started();
    MPI_Request request;
    MPI_Comm_idup(inter, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    expect("the sum of the others in a copy", sum, sum_of(!is_odd));
    MPI_Comm_free(&copy);
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_compare(inter, copy, &found);
    expect("the copy", found, MPI_CONGRUENT);
    MPI_Comm_compare(inter, COMM, &found);
    expect("another kind", found, MPI_UNEQUAL);
    MPI_Intercomm_merge(copy, is_odd, &merged);
    MPI_Comm_rank(merged, &found);
    expect("the rank of both", found, is_odd ? others + own : own);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    expect("the sum of both", sum, sum_of(0) + sum_of(1));
    MPI_Comm_free(&merged);
    /* The lower half of each group, in reverse order, and rank 0 of each. */
    MPI_Comm_split(inter, own < 1 ? 5 : MPI_UNDEFINED, -own, &merged);
    expect("is in the part", merged != MPI_COMM_NULL, own < 1);
    if (merged != MPI_COMM_NULL) {
      MPI_Comm_remote_size(merged, &found);
      expect("the other part", found, 1);
      MPI_Sendrecv(&rank, 1, MPI_INT, 0, 4, &sum, 1, MPI_INT, 0, 4, merged, MPI_STATUS_IGNORE);
      expect("the rank of the other part", sum, !is_odd);
      MPI_Comm_free(&merged);
    }
    MPI_Comm_split(inter, 0, -own, &merged);
    MPI_Comm_rank(merged, &found);
    expect("the reverse rank", found, size - 1 - own);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    expect("the sum of the others", sum, sum_of(!is_odd));
    MPI_Comm_free(&merged);
    MPI_Comm_split(inter, is_odd, 0, &merged);
    expect("no common colour", merged == MPI_COMM_NULL, 1);
    MPI_Comm_group(inter, &group);
    MPI_Comm_create(inter, group, &merged);
    MPI_Group_free(&group);
    MPI_Comm_compare(inter, merged, &found);
    expect("the same groups", found, MPI_CONGRUENT);
    MPI_Comm_free(&merged);
    /* A rank frees before the others have a message that they wait for. */
    if (rank > 0)
      MPI_Recv(&found, 1, MPI_INT, rank - 1, 7, COMM, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&inter);
    if (rank + 1 < ranks)
      MPI_Send(&found, 1, MPI_INT, rank + 1, 7, COMM);
    MPI_Comm_free(&half);
  }
  MPI_Barrier(COMM);
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
