// freedom: MPI_Put and MPI_Get of the same place in one epoch
// outcomes: undefined: an error (12.7)
// ranks: 3
// verdict: errors

#include "freedoms.h"

/* Both ranks write the same place. */
static void body(void) {
    MPI_Win window = make_window();
    MPI_Win_fence(0, window);
    if (me > 0)
        MPI_Put(&me, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}
