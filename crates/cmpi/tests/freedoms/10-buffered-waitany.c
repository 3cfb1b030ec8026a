// freedom: MPI_Isend that MPI_Waitany completes
// outcomes: buffered or not (3.4)
// ranks: 2
// verdict: errors
// condition: send

#include "freedoms.h"

/* A deadlock if the send waits for its receive. */
static void body(void) {
    if (me == 1) {
        int index;
        MPI_Request request;
        MPI_Isend(&me, 1, MPI_INT, 0, 0, WORLD, &request);
        MPI_Waitany(1, &request, &index, IGNORE);
        MPI_Barrier(WORLD);
    } else {
        MPI_Barrier(WORLD);
        receive(1, 0);
    }
}
