// freedom: MPI_Cancel of a send
// outcomes: cancelled or complete (3.8.4)
// ranks: 2
// verdict: no errors within bounds

#include "freedoms.h"

/* The send may be cancelled. */
static void body(void) {
    if (me == 1) {
        int is_cancelled;
        MPI_Request request;
        MPI_Status status;
        MPI_Isend(&me, 1, MPI_INT, 0, 0, WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        if (is_cancelled)
            send_to(0, 1);
        assert(!is_cancelled);
    } else {
        receive(1, MPI_ANY_TAG);
    }
}
