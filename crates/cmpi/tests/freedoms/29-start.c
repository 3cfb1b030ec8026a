// freedom: MPI_Win_start, MPI_Win_complete
// outcomes: may wait for MPI_Win_post or not (12.5.2)
// ranks: 3
// verdict: errors
// condition: start

#include "freedoms.h"

/* Rank 0 may leave MPI_Win_start before rank 1 has called MPI_Win_post. */
static void body(void) {
    MPI_Win window = make_window();
    MPI_Group all, other;
    int number = 1 - me;
    MPI_Comm_group(WORLD, &all);
    if (me < 2)
        MPI_Group_incl(all, 1, &number, &other);
    if (me == 0) {
        MPI_Win_start(other, 0, window);
        send_to(1, 0);
        MPI_Win_complete(window);
    } else if (me == 1) {
        assert(receive(MPI_ANY_SOURCE, 0) == 2);
        MPI_Win_post(other, 0, window);
        receive(MPI_ANY_SOURCE, 0);
        MPI_Win_wait(window);
    } else {
        send_to(1, 0);
    }
    if (me < 2)
        MPI_Group_free(&other);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
}
