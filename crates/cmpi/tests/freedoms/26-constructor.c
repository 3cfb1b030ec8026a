// freedom: MPI_Comm_dup, MPI_Comm_create, MPI_Cart_create, MPI_Win_create and others
// outcomes: may synchronise or not; MPI_Comm_split needs all ranks (7.4.2)
// ranks: 3
// verdict: errors
// condition: dup of a communicator

#include "freedoms.h"

/* A deadlock if MPI_Comm_dup synchronises. */
static void body(void) {
    MPI_Comm copy;
    if (me == 1)
        receive(2, 0);
    MPI_Comm_dup(WORLD, &copy);
    if (me == 2)
        send_to(1, 0);
    MPI_Comm_free(&copy);
}
