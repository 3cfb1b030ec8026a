// freedom: the same look again
// outcomes: no any number of times, yes at last (2.9, 3.7.4)
// ranks: 2
// verdict: errors

#include "freedoms.h"

/* Two looks may both say no. */
static void body(void) {
    if (me == 1) {
        send_to(0, 0);
    } else {
        int is_there;
        MPI_Iprobe(1, 0, WORLD, &is_there, IGNORE);
        if (!is_there)
            MPI_Iprobe(1, 0, WORLD, &is_there, IGNORE);
        receive(1, 0);
        assert(is_there);
    }
}
