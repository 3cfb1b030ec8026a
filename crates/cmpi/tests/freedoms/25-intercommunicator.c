// freedom: collectives of inter-communicators
// outcomes: as above, across the groups (6.8)
// ranks: 3
// verdict: errors
// condition: bcast

#include "freedoms.h"

/* The root may leave before rank 0 has called. */
static void body(void) {
    int number = 1;
    MPI_Comm group, both;
    MPI_Comm_split(WORLD, me == 0, me, &group);
    MPI_Intercomm_create(group, 0, WORLD, me == 0 ? 1 : 0, 5, &both);
    if (me == 0) {
        assert(receive(MPI_ANY_SOURCE, 0) == 2);
        MPI_Bcast(&number, 1, MPI_INT, 0, both);
        receive(MPI_ANY_SOURCE, 0);
    } else if (me == 1) {
        MPI_Bcast(&number, 1, MPI_INT, MPI_ROOT, both);
        send_to(0, 0);
    } else {
        send_to(0, 0);
        MPI_Bcast(&number, 1, MPI_INT, MPI_PROC_NULL, both);
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&group);
}
