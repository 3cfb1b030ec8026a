// freedom: MPI_Win_lock
// outcomes: exclusive locks in any order; the lock may wait or not; a shared lock passes an exclusive one that waits, or not (12.5.3)
// ranks: 3
// verdict: errors

#include "freedoms.h"

/* Rank 2 may have the lock before rank 1. */
static void body(void) {
    MPI_Win window = make_window();
    int old = 0;
    if (me > 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Fetch_and_op(&me, &old, MPI_INT, 0, 0, MPI_REPLACE, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
    assert(me != 1 || old == 0);
}
