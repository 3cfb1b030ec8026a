// freedom: order in which messages of one sender arrive
// outcomes: free: only matching is in order (3.5)
// ranks: 2
// verdict: errors
// condition: send

#include "freedoms.h"

/* The second message may have arrived, and the first one not. */
static void body(void) {
    if (me == 1) {
        send_to(0, 0);
        send_to(0, 1);
    } else {
        int second, first;
        MPI_Iprobe(1, 1, WORLD, &second, IGNORE);
        MPI_Iprobe(1, 0, WORLD, &first, IGNORE);
        receive(1, 0);
        receive(1, 1);
        assert(first || !second);
    }
}
