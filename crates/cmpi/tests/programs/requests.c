/* Collectives that do not wait and persistent requests against the collectives that wait, buffered sends and matched
   probes: prints "ok", or the first difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 5, RANKS = 32 };

static int rank, ranks;
static int given[RANKS * COUNT], expected[RANKS * COUNT], found[RANKS * COUNT];
static int counts[RANKS], displacements[RANKS];

static void fill(int round) {
  for (int i = 0; i < RANKS * COUNT; i++)
    given[i] = 1000 * rank + 7 * i + 100000 * round;
  memset(expected, -1, sizeof expected);
  memset(found, -1, sizeof found);
}

static void compare(const char *call, int round) {
  if (memcmp(found, expected, sizeof found) == 0)
    return;
  printf("rank %d: %s differs in round %d\n", rank, call, round);
  exit(1);
}

#define COMM MPI_COMM_WORLD
#define INT MPI_INT

/* A collective of each kind: as WAITS, and as BEGIN or INIT, of which each is completed before results are compared. */
#define CASE(name, WAITS, BEGIN, INIT)                                                                                 \
  {                                                                                                                    \
    MPI_Request request;                                                                                               \
    int *out = expected;                                                                                               \
    fill(0);                                                                                                           \
    MPI_##WAITS;                                                                                                       \
    out = found;                                                                                                       \
    MPI_##BEGIN;                                                                                                       \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                             \
    if (request != MPI_REQUEST_NULL)                                                                                   \
      exit(2);                                                                                                         \
    compare(name, 0);                                                                                                  \
    MPI_##INIT;                                                                                                        \
    for (int round = 1; round < 3; round++) {                                                                          \
      fill(round);                                                                                                     \
      out = expected;                                                                                                  \
      MPI_##WAITS;                                                                                                     \
      MPI_Start(&request);                                                                                             \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                           \
      compare(name, round);                                                                                            \
    }                                                                                                                  \
    MPI_Request_free(&request);                                                                                        \
  }

static void collectives(int root) {
  for (int i = 0; i < ranks; i++) {
    counts[i] = i % 3;
    displacements[i] = COUNT * i;
  }
  CASE("reduce", Reduce(given, out, COUNT, INT, MPI_SUM, root, COMM),
       Ireduce(given, out, COUNT, INT, MPI_SUM, root, COMM, &request),
       Reduce_init(given, out, COUNT, INT, MPI_SUM, root, COMM, MPI_INFO_NULL, &request))
  CASE("allreduce", Allreduce(given, out, COUNT, INT, MPI_MAX, COMM),
       Iallreduce(given, out, COUNT, INT, MPI_MAX, COMM, &request),
       Allreduce_init(given, out, COUNT, INT, MPI_MAX, COMM, MPI_INFO_NULL, &request))
  CASE("scan", Scan(given, out, COUNT, INT, MPI_SUM, COMM), Iscan(given, out, COUNT, INT, MPI_SUM, COMM, &request),
       Scan_init(given, out, COUNT, INT, MPI_SUM, COMM, MPI_INFO_NULL, &request))
  CASE("gather", Gather(given, COUNT, INT, out, COUNT, INT, root, COMM),
       Igather(given, COUNT, INT, out, COUNT, INT, root, COMM, &request),
       Gather_init(given, COUNT, INT, out, COUNT, INT, root, COMM, MPI_INFO_NULL, &request))
  CASE("gatherv", Gatherv(given, counts[rank], INT, out, counts, displacements, INT, root, COMM),
       Igatherv(given, counts[rank], INT, out, counts, displacements, INT, root, COMM, &request),
       Gatherv_init(given, counts[rank], INT, out, counts, displacements, INT, root, COMM, MPI_INFO_NULL, &request))
  CASE("scatter", Scatter(given, COUNT, INT, out, COUNT, INT, root, COMM),
       Iscatter(given, COUNT, INT, out, COUNT, INT, root, COMM, &request),
       Scatter_init(given, COUNT, INT, out, COUNT, INT, root, COMM, MPI_INFO_NULL, &request))
  CASE("scatterv", Scatterv(given, counts, displacements, INT, out, counts[rank], INT, root, COMM),
       Iscatterv(given, counts, displacements, INT, out, counts[rank], INT, root, COMM, &request),
       Scatterv_init(given, counts, displacements, INT, out, counts[rank], INT, root, COMM, MPI_INFO_NULL, &request))
  CASE("allgather", Allgather(given, COUNT, INT, out, COUNT, INT, COMM),
       Iallgather(given, COUNT, INT, out, COUNT, INT, COMM, &request),
       Allgather_init(given, COUNT, INT, out, COUNT, INT, COMM, MPI_INFO_NULL, &request))
  CASE("allgatherv", Allgatherv(given, counts[rank], INT, out, counts, displacements, INT, COMM),
       Iallgatherv(given, counts[rank], INT, out, counts, displacements, INT, COMM, &request),
       Allgatherv_init(given, counts[rank], INT, out, counts, displacements, INT, COMM, MPI_INFO_NULL, &request))
  CASE("alltoall", Alltoall(given, COUNT, INT, out, COUNT, INT, COMM),
       Ialltoall(given, COUNT, INT, out, COUNT, INT, COMM, &request),
       Alltoall_init(given, COUNT, INT, out, COUNT, INT, COMM, MPI_INFO_NULL, &request))
  CASE("reduce_scatter_block", Reduce_scatter_block(given, out, COUNT, INT, MPI_SUM, COMM),
       Ireduce_scatter_block(given, out, COUNT, INT, MPI_SUM, COMM, &request),
       Reduce_scatter_block_init(given, out, COUNT, INT, MPI_SUM, COMM, MPI_INFO_NULL, &request))
  CASE("reduce_scatter", Reduce_scatter(given, out, counts, INT, MPI_SUM, COMM),
       Ireduce_scatter(given, out, counts, INT, MPI_SUM, COMM, &request),
       Reduce_scatter_init(given, out, counts, INT, MPI_SUM, COMM, MPI_INFO_NULL, &request))
}

/* Where the result of a collective takes the place of the contribution. */
static void in_place(int root) {
  MPI_Request requests[3];
  int undefined[COUNT];
  fill(3);
  memcpy(expected, given, sizeof given);
  memcpy(found, given, sizeof given);
  MPI_Bcast(expected, COUNT, INT, root, COMM);
  MPI_Allreduce(MPI_IN_PLACE, expected + COUNT, COUNT, INT, MPI_SUM, COMM);
  MPI_Exscan(given, rank > 0 ? expected + 2 * COUNT : undefined, COUNT, INT, MPI_SUM, COMM);
  MPI_Ibcast(found, COUNT, INT, root, COMM, &requests[0]);
  MPI_Iallreduce(MPI_IN_PLACE, found + COUNT, COUNT, INT, MPI_SUM, COMM, &requests[1]);
  MPI_Iexscan(given, rank > 0 ? found + 2 * COUNT : undefined, COUNT, INT, MPI_SUM, COMM, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  compare("in place", root);
  MPI_Ibarrier(COMM, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* A ring of persistent requests, buffered sends and matched probes. */
static void ring(void) {
  int out = 0, in = -1, next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks, flag = 1, count, size;
  char buffer[4 * (sizeof(int) + MPI_BSEND_OVERHEAD)], *detached = NULL;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Message message;
  MPI_Recv_init(&in, 1, INT, previous, 4, COMM, &requests[0]);
  MPI_Send_init(&out, 1, INT, next, 4, COMM, &requests[1]);
  /* Requests that are not active are over at once. */
  MPI_Waitall(2, requests, statuses);
  MPI_Testall(2, requests, &flag, statuses);
  if (!flag || statuses[0].MPI_SOURCE != MPI_ANY_SOURCE)
    exit(3);
  for (int round = 0; round < 3; round++) {
    out = 100 * round + rank;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, statuses);
    if (in != 100 * round + previous || statuses[0].MPI_SOURCE != previous || requests[0] == MPI_REQUEST_NULL)
      exit(4);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Bsend(&rank, 1, INT, next, 5, COMM);
  MPI_Ibsend(&rank, 1, INT, next, 6, COMM, &requests[0]);
  MPI_Mprobe(MPI_ANY_SOURCE, 5, COMM, &message, &statuses[0]);
  MPI_Get_count(&statuses[0], INT, &count);
  MPI_Mrecv(&in, 1, INT, &message, &statuses[1]);
  if (count != 1 || in != previous || statuses[1].MPI_SOURCE != previous || message != MPI_MESSAGE_NULL)
    exit(5);
  for (flag = 0; !flag;)
    MPI_Improbe(previous, 6, COMM, &flag, &message, &statuses[0]);
  MPI_Imrecv(&in, 1, INT, &message, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Buffer_detach(&detached, &size);
  if (in != previous || detached != buffer || size != (int)sizeof buffer)
    exit(6);
  MPI_Comm copy;
  MPI_Comm_dup(COMM, &copy);
  MPI_Comm_attach_buffer(copy, MPI_BUFFER_AUTOMATIC, 0);
  MPI_Bsend(&rank, 1, INT, next, 7, copy);
  MPI_Recv(&in, 1, INT, previous, 7, copy, MPI_STATUS_IGNORE);
  MPI_Comm_flush_buffer(copy);
  MPI_Comm_detach_buffer(copy, &detached, &size);
  if (in != previous || detached != MPI_BUFFER_AUTOMATIC)
    exit(7);
  MPI_Comm_free(&copy);
}

/* A test or a probe is answered with no, also when no rank does anything else. */
static void answers(void) {
  MPI_Request request;
  int flag = 0;
  MPI_Irecv(found, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 20 && !flag; i++)
    MPI_Iprobe(MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < 20 && !flag; i++)
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < 20 && !flag; i++)
    MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
  if (flag) {
    printf("rank %d: a message that was not sent\n", rank);
    exit(1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_size(COMM, &ranks);
  for (int root = 0; root < ranks; root++) {
    collectives(root);
    in_place(root);
  }
  ring();
  answers();
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
