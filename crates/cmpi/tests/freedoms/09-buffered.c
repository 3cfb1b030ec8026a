// freedom: MPI_Send
// outcomes: buffered or not, each send by itself (3.4)
// ranks: 2
// verdict: errors
// condition: send

#include "freedoms.h"

/* A deadlock if both sends wait for their receives. */
static void body(void) {
    send_to(1 - me, 0);
    receive(1 - me, 0);
}
