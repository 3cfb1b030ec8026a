// freedom: MPI_Bcast and MPI_Scatter
// outcomes: the root leaves at once, another rank after the root has called (6.1)
// ranks: 3
// verdict: errors
// condition: bcast

#include "freedoms.h"

/* Rank 1, the root, may leave before rank 0 has called. */
static void body(void) {
    int number = 1;
    if (me == 0) {
        assert(receive(MPI_ANY_SOURCE, 0) == 2);
        MPI_Bcast(&number, 1, MPI_INT, 1, WORLD);
        receive(MPI_ANY_SOURCE, 0);
    } else if (me == 1) {
        MPI_Bcast(&number, 1, MPI_INT, 1, WORLD);
        send_to(0, 0);
    } else {
        send_to(0, 0);
        MPI_Bcast(&number, 1, MPI_INT, 1, WORLD);
    }
}
