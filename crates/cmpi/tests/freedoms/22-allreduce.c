// freedom: MPI_Barrier, MPI_Allreduce, MPI_Allgather, MPI_Alltoall, MPI_Reduce_scatter
// outcomes: a rank leaves after all have called (6.1)
// ranks: 3
// verdict: no errors

#include "freedoms.h"

/* Rank 1 needs the operand of rank 0. */
static void body(void) {
    int sum = 0;
    if (me == 0) {
        assert(receive(MPI_ANY_SOURCE, 0) == 2);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, WORLD);
        receive(MPI_ANY_SOURCE, 0);
    } else if (me == 1) {
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, WORLD);
        send_to(0, 0);
    } else {
        send_to(0, 0);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, WORLD);
    }
}
