// freedom: access that is not flushed
// outcomes: may be visible or not (12.7)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The access may not be at the target yet when the message is. */
static void body(void) {
    MPI_Win window = make_window();
    int one = 1, value = 0, ignored = 0;
    MPI_Win_lock_all(0, window);
    if (me == 0) {
        MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window);
        send_to(1, 0);
    } else {
        receive(0, 0);
        MPI_Fetch_and_op(&ignored, &value, MPI_INT, 1, 0, MPI_NO_OP, window);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    assert(me == 0 || value == 1);
}
