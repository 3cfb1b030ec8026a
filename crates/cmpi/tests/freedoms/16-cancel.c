// freedom: MPI_Cancel of a receive
// outcomes: cancelled or complete (3.8.4)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The message may have arrived before. */
static void body(void) {
    if (me == 1) {
        send_to(0, 0);
    } else {
        int number, is_cancelled;
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(&number, 1, MPI_INT, 1, 0, WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        if (is_cancelled)
            receive(1, 0);
        assert(is_cancelled);
    }
}
