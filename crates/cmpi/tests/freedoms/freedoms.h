/* The frame of the programs of this folder: each has a function `body`, which all ranks call. */
#include <assert.h>
#include <mpi.h>
#include <stdlib.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static int me;

static void body(void);

/* Sends the number of this rank. */
static inline void send_to(int other, int tag) { MPI_Send(&me, 1, MPI_INT, other, tag, WORLD); }

/* Receives the number of a rank. */
static inline int receive(int from, int tag) {
    int number;
    MPI_Recv(&number, 1, MPI_INT, from, tag, WORLD, IGNORE);
    return number;
}

/* Makes a window of two numbers, 0 at first, at each rank. */
static inline MPI_Win make_window(void) {
    int *memory;
    MPI_Win window;
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &window);
    memory[0] = memory[1] = 0;
    MPI_Barrier(WORLD);
    return window;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &me);
    body();
    MPI_Finalize();
    return 0;
}
