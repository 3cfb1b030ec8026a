// freedom: MPI_Iprobe and MPI_Improbe
// outcomes: no and yes; a message that was seen stays (3.8.1, 3.8.2)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* Rank 0 may see the message that rank 1 sends after its receive. */
static void body(void) {
    int is_there;
    if (me == 1) {
        receive(0, 0);
        MPI_Ssend(&me, 1, MPI_INT, 0, 1, WORLD);
    } else {
        MPI_Request request;
        MPI_Issend(&me, 1, MPI_INT, 1, 0, WORLD, &request);
        MPI_Iprobe(1, 1, WORLD, &is_there, IGNORE);
        receive(1, 1);
        MPI_Wait(&request, IGNORE);
        assert(!is_there);
    }
}
