// freedom: MPI_Test of MPI_Rput, MPI_Rget, MPI_Raccumulate
// outcomes: no and yes (12.3.5)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The operation may be incomplete at the origin. */
static void body(void) {
    MPI_Win window = make_window();
    int is_complete = 1;
    if (me == 0) {
        MPI_Request request;
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        MPI_Rput(&me, 1, MPI_INT, 1, 0, 1, MPI_INT, window, &request);
        MPI_Test(&request, &is_complete, IGNORE);
        MPI_Wait(&request, IGNORE);
        MPI_Win_unlock(1, window);
    }
    MPI_Win_free(&window);
    assert(is_complete);
}
