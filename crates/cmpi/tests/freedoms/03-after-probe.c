// freedom: receive from any source after a probe of any source
// outcomes: any eligible message, not only the probed one (3.8.1)
// ranks: 3
// verdict: errors

#include "freedoms.h"

/* The receive may get the message that the probe did not see. */
static void body(void) {
    if (me > 0) {
        send_to(0, 0);
    } else {
        MPI_Status probed;
        MPI_Probe(MPI_ANY_SOURCE, 0, WORLD, &probed);
        assert(receive(MPI_ANY_SOURCE, 0) == probed.MPI_SOURCE);
        receive(MPI_ANY_SOURCE, 0);
    }
}
