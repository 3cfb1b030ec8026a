// freedom: MPI_Test of a send
// outcomes: no and yes; no does not mean that the send needs its receive (3.7.3)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The send may be incomplete although the message is buffered. */
static void body(void) {
    if (me == 1) {
        send_to(0, 1);
        receive(0, 0);
    } else {
        int is_complete;
        MPI_Request request;
        MPI_Isend(&me, 1, MPI_INT, 1, 0, WORLD, &request);
        MPI_Test(&request, &is_complete, IGNORE);
        receive(1, 1);
        MPI_Wait(&request, IGNORE);
        assert(is_complete);
    }
}
