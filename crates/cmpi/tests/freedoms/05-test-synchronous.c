// freedom: the same, of a message of MPI_Ssend
// outcomes: no and yes (3.7.3)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The message may be there. */
static void body(void) {
    if (me == 1) {
        MPI_Ssend(&me, 1, MPI_INT, 0, 0, WORLD);
    } else {
        int number, is_complete;
        MPI_Request request;
        MPI_Irecv(&number, 1, MPI_INT, 1, 0, WORLD, &request);
        MPI_Test(&request, &is_complete, IGNORE);
        MPI_Wait(&request, IGNORE);
        assert(!is_complete);
    }
}
