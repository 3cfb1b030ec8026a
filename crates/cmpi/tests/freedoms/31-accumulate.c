// freedom: MPI_Accumulate and MPI_Fetch_and_op
// outcomes: any order; of one origin in order at one place (12.7.2)
// ranks: 2
// verdict: no errors within bounds

#include "freedoms.h"

/* Accesses of one rank to different places of one target have no order. */
static void body(void) {
    MPI_Win window = make_window();
    int one = 1, first = -1, second = -1, ignored = 0;
    MPI_Win_lock_all(0, window);
    if (me == 0) {
        MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window);
        MPI_Accumulate(&one, 1, MPI_INT, 1, 1, 1, MPI_INT, MPI_SUM, window);
    } else {
        MPI_Fetch_and_op(&ignored, &second, MPI_INT, 1, 1, MPI_NO_OP, window);
        MPI_Win_flush(1, window);
        MPI_Fetch_and_op(&ignored, &first, MPI_INT, 1, 0, MPI_NO_OP, window);
        MPI_Win_flush(1, window);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    assert(second != 1 || first == 1);
}
