// freedom: large message that is matched first, then a small one
// outcomes: the small one may be complete first (3.5)
// ranks: 2
// verdict: errors

#include "freedoms.h"

static char large[1 << 20];

/* The large message may still be in transit. */
static void body(void) {
    MPI_Request request;
    if (me == 1) {
        MPI_Isend(large, sizeof large, MPI_CHAR, 0, 0, WORLD, &request);
        send_to(0, 1);
        MPI_Wait(&request, IGNORE);
    } else {
        int is_complete;
        MPI_Irecv(large, sizeof large, MPI_CHAR, 1, 0, WORLD, &request);
        receive(1, 1);
        MPI_Test(&request, &is_complete, IGNORE);
        MPI_Wait(&request, IGNORE);
        assert(is_complete);
    }
}
