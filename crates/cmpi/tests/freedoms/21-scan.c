// freedom: MPI_Scan and MPI_Exscan
// outcomes: a rank leaves after the ranks before it have called (6.1)
// ranks: 3
// verdict: errors
// condition: scan

#include "freedoms.h"

/* Rank 0 may leave before rank 2 has called. */
static void body(void) {
    int sum = 0;
    if (me == 2) {
        assert(receive(MPI_ANY_SOURCE, 0) == 1);
        MPI_Scan(&me, &sum, 1, MPI_INT, MPI_SUM, WORLD);
        receive(MPI_ANY_SOURCE, 0);
    } else if (me == 0) {
        MPI_Scan(&me, &sum, 1, MPI_INT, MPI_SUM, WORLD);
        send_to(2, 0);
    } else {
        send_to(2, 0);
        MPI_Scan(&me, &sum, 1, MPI_INT, MPI_SUM, WORLD);
    }
}
