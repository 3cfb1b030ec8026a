// freedom: collectives of no elements but MPI_Barrier
// outcomes: a rank leaves at once (6.1)
// ranks: 3
// verdict: errors
// condition: allreduce

#include "freedoms.h"

/* Rank 1 may leave before rank 0 has called. */
static void body(void) {
    int sum = 0;
    if (me == 0) {
        assert(receive(MPI_ANY_SOURCE, 0) == 2);
        MPI_Allreduce(&me, &sum, 0, MPI_INT, MPI_SUM, WORLD);
        receive(MPI_ANY_SOURCE, 0);
    } else if (me == 1) {
        MPI_Allreduce(&me, &sum, 0, MPI_INT, MPI_SUM, WORLD);
        send_to(0, 0);
    } else {
        send_to(0, 0);
        MPI_Allreduce(&me, &sum, 0, MPI_INT, MPI_SUM, WORLD);
    }
}
