// freedom: message of a receive or probe from any source or with any tag
// outcomes: any eligible message; of each sender the first that matches (3.5)
// ranks: 3
// verdict: errors

#include "freedoms.h"

/* The message of rank 2 may be the first. */
static void body(void) {
    if (me > 0) {
        send_to(0, 0);
    } else {
        assert(receive(MPI_ANY_SOURCE, 0) == 1);
        receive(MPI_ANY_SOURCE, 0);
    }
}
