// freedom: MPI_Wtime
// outcomes: does not decrease (9.6)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* The message may be later than the time-out. */
static void body(void) {
    if (me == 1) {
        send_to(0, 0);
    } else {
        int is_there = 0;
        double begin = MPI_Wtime();
        while (!is_there && MPI_Wtime() - begin < 0.5)
            MPI_Iprobe(1, 0, WORLD, &is_there, IGNORE);
        receive(1, 0);
        assert(is_there);
    }
}
