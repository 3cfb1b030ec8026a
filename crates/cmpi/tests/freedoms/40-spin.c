// freedom: MPI_Compare_and_swap, MPI_Fetch_and_op, MPI_Get in a loop until the memory changes
// outcomes: the same result any number of times, another one at last (12.7)
// ranks: 2
// verdict: no errors within bounds

#include "freedoms.h"

/* The second rank gets the lock when the first one gives it back. */
static void body(void) {
    MPI_Win window = make_window();
    int none = 0, one = 1, before, inside;
    MPI_Win_lock_all(0, window);
    do {
        MPI_Compare_and_swap(&one, &none, &before, MPI_INT, 0, 0, window);
        MPI_Win_flush(0, window);
    } while (before != 0);
    MPI_Fetch_and_op(&one, &inside, MPI_INT, 0, 1, MPI_REPLACE, window);
    MPI_Win_flush(0, window);
    assert(inside == 0);
    MPI_Fetch_and_op(&none, &inside, MPI_INT, 0, 1, MPI_REPLACE, window);
    MPI_Win_flush(0, window);
    MPI_Accumulate(&none, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}
