// freedom: MPI_Abort and errors
// outcomes: at any step of the other ranks (9.3)
// ranks: 3
// verdict: errors

#include "freedoms.h"

/* Rank 0 aborts if the message of rank 2 is the first. */
static void body(void) {
    if (me > 0) {
        send_to(0, 0);
    } else {
        if (receive(MPI_ANY_SOURCE, 0) == 2)
            MPI_Abort(WORLD, 1);
        receive(MPI_ANY_SOURCE, 0);
    }
}
