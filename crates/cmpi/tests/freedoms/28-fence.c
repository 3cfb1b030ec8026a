// freedom: MPI_Win_fence
// outcomes: the fence after an epoch waits for all; with MPI_MODE_NOPRECEDE it may wait or not (12.5.1)
// ranks: 3
// verdict: errors
// condition: fence with MPI_MODE_NOPRECEDE

#include "freedoms.h"

/* Rank 1 may leave the first fence before rank 0 has called. */
static void body(void) {
    MPI_Win window = make_window();
    if (me == 0) {
        assert(receive(MPI_ANY_SOURCE, 0) == 2);
        MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
        receive(MPI_ANY_SOURCE, 0);
    } else if (me == 1) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
        send_to(0, 0);
    } else {
        send_to(0, 0);
        MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    }
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}
