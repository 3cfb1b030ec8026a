// freedom: nonblocking and persistent collectives
// outcomes: completion as above; a look says no and yes; a wait may synchronise (6.12)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The broadcast of the root may be incomplete at first. */
static void body(void) {
    int number = 1, is_complete;
    MPI_Request request;
    MPI_Ibcast(&number, 1, MPI_INT, 0, WORLD, &request);
    MPI_Test(&request, &is_complete, IGNORE);
    MPI_Wait(&request, IGNORE);
    assert(me == 1 || is_complete);
}
