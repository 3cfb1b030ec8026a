// freedom: MPI_Reduce and MPI_Gather
// outcomes: the root leaves after all have called, another rank at once (6.1)
// ranks: 3
// verdict: errors
// condition: reduce

#include "freedoms.h"

/* Rank 1 may leave before rank 0, the root, has called. */
static void body(void) {
    int sum = 0;
    if (me == 0) {
        assert(receive(MPI_ANY_SOURCE, 0) == 2);
        MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, 0, WORLD);
        receive(MPI_ANY_SOURCE, 0);
    } else if (me == 1) {
        MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, 0, WORLD);
        send_to(0, 0);
    } else {
        send_to(0, 0);
        MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, 0, WORLD);
    }
}
