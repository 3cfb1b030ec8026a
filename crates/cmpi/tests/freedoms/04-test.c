// freedom: MPI_Test of a receive
// outcomes: no and yes (3.7.3)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The message may be late. */
static void body(void) {
    if (me == 1) {
        send_to(0, 0);
    } else {
        int number, is_complete;
        MPI_Request request;
        MPI_Irecv(&number, 1, MPI_INT, 1, 0, WORLD, &request);
        MPI_Test(&request, &is_complete, IGNORE);
        MPI_Wait(&request, IGNORE);
        assert(is_complete);
    }
}
