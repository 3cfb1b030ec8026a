/* A message in two partitions from rank 1 to rank 0, the last of which is ready first. By the first
 * argument: `order` believes that the first partition arrives first, `early` waits for the last one
 * before the first one is ready, `data` looks at the data of the partition that has arrived. */

#include <assert.h>
#include <mpi.h>
#include <string.h>

static int is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

static void receive(const char *mode, MPI_Request request, int *numbers) {
  int first = 0, last = 0;
  MPI_Start(&request);
  if (is(mode, "early")) {
    while (!last)
      MPI_Parrived(request, 1, &last);
    assert(numbers[2] == 3 && numbers[3] == 4);
    MPI_Send(&last, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Parrived(request, 1, &last);
    MPI_Parrived(request, 0, &first);
    if (is(mode, "order"))
      assert(first || !last);
    else
      assert((!first || numbers[1] == 2) && (!last || numbers[2] == 3));
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  assert(numbers[0] == 1 && numbers[3] == 4);
}

static void send(const char *mode, MPI_Request request) {
  int flag;
  MPI_Start(&request);
  MPI_Pready(1, request);
  if (is(mode, "early"))
    MPI_Recv(&flag, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Pready(0, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  int rank, numbers[4] = {0};
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Precv_init(numbers, 2, 2, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    receive(argv[1], request, numbers);
  } else {
    for (int i = 0; i < 4; i++)
      numbers[i] = i + 1;
    MPI_Psend_init(numbers, 2, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    send(argv[1], request);
  }
  MPI_Request_free(&request);
  MPI_Finalize();
  return 0;
}
