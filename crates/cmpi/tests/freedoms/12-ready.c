// freedom: MPI_Rsend
// outcomes: right only if the receive is posted before by what MPI guarantees (3.4)
// ranks: 3
// verdict: errors

#include "freedoms.h"

/* A broadcast from rank 0 orders nothing between ranks 1 and 2. */
static void body(void) {
    int number = 0, late;
    MPI_Request request;
    if (me == 2)
        MPI_Irecv(&late, 1, MPI_INT, 1, 0, WORLD, &request);
    MPI_Bcast(&number, 1, MPI_INT, 0, WORLD);
    if (me == 1)
        MPI_Rsend(&me, 1, MPI_INT, 2, 0, WORLD);
    if (me == 2)
        MPI_Wait(&request, IGNORE);
}
