// freedom: MPI_Waitany and MPI_Testany with several complete requests
// outcomes: any index (3.7.5)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The index may be 1. */
static void body(void) {
    if (me == 1) {
        send_to(0, 0);
        send_to(0, 0);
    } else {
        int numbers[2], index;
        MPI_Request requests[2];
        MPI_Irecv(numbers, 1, MPI_INT, 1, 0, WORLD, requests);
        MPI_Irecv(numbers + 1, 1, MPI_INT, 1, 0, WORLD, requests + 1);
        MPI_Waitany(2, requests, &index, IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        assert(index == 0);
    }
}
