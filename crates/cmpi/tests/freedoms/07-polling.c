// freedom: polling without an end
// outcomes: a livelock only if no other call can continue (3.7.4)
// ranks: 2
// verdict: no errors within bounds

#include "freedoms.h"

/* The message comes at last. */
static void body(void) {
    if (me == 1) {
        send_to(0, 0);
    } else {
        int is_there = 0;
        while (!is_there)
            MPI_Iprobe(1, 0, WORLD, &is_there, IGNORE);
        receive(1, 0);
    }
}
