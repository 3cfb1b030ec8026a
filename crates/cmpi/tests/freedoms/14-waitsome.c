// freedom: MPI_Waitsome and MPI_Testsome
// outcomes: any non-empty set that can be complete (3.7.5)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* Both receives may be complete. */
static void body(void) {
    if (me == 1) {
        send_to(0, 0);
        send_to(0, 0);
    } else {
        int numbers[2], count, indices[2];
        MPI_Request requests[2];
        MPI_Irecv(numbers, 1, MPI_INT, 1, 0, WORLD, requests);
        MPI_Irecv(numbers + 1, 1, MPI_INT, 1, 0, WORLD, requests + 1);
        MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        assert(count == 1);
    }
}
