// freedom: MPI_Comm_free, MPI_Comm_disconnect, MPI_Bcast_init and others, MPI_Win_free
// outcomes: may synchronise or not (7.4.3)
// ranks: 2
// verdict: errors
// condition: free of a communicator

#include "freedoms.h"

/* A deadlock if MPI_Comm_free synchronises. */
static void body(void) {
    MPI_Comm copy;
    MPI_Comm_dup(WORLD, &copy);
    if (me == 1)
        receive(0, 0);
    MPI_Comm_free(&copy);
    if (me == 0)
        send_to(1, 0);
}
