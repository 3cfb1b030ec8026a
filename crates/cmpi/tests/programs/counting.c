/* A tool of the profiling interface, which counts sends; opened by a program, a library that calls MPI. */

#include <mpi.h>
#include <stdio.h>

static int sends;

__attribute__((constructor)) static void begin(void) { sends = 100; }

int MPI_Send(const void *buffer, int count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm) {
  sends++;
  return PMPI_Send(buffer, count, datatype, peer, tag, comm);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("tool: rank %d, %d\n", rank, sends);
  return PMPI_Finalize();
}
