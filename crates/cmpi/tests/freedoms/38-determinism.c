// freedom: determinism of the program
// outcomes: a program that repeats its steps is never called nondeterministic
// ranks: 2
// verdict: no errors

#include "freedoms.h"

static void body(void) {
    MPI_Request requests[2];
    if (me == 0) {
        int index;
        MPI_Status status;
        MPI_Probe(1, MPI_ANY_TAG, WORLD, &status);
        receive(1, status.MPI_TAG);
        MPI_Ibarrier(WORLD, requests);
        MPI_Waitany(1, requests, &index, &status);
    } else {
        MPI_Ibarrier(WORLD, requests);
        MPI_Isend(&me, 1, MPI_INT, 0, 0, WORLD, requests + 1);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}
