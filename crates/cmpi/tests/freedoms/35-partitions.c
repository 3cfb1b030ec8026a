// freedom: MPI_Parrived
// outcomes: each partition by itself, from its MPI_Pready on, in any order (4.2)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* Partition 1 may have arrived, and partition 0 not. */
static void body(void) {
    int numbers[2] = {1, 2}, first, second;
    MPI_Request request;
    if (me == 1) {
        MPI_Psend_init(numbers, 2, 1, MPI_INT, 0, 0, WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready(1, request);
        MPI_Pready(0, request);
        MPI_Wait(&request, IGNORE);
    } else {
        MPI_Precv_init(numbers, 2, 1, MPI_INT, 1, 0, WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Parrived(request, 1, &second);
        MPI_Parrived(request, 0, &first);
        MPI_Wait(&request, IGNORE);
        assert(first || !second);
    }
    MPI_Request_free(&request);
}
