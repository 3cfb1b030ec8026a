// freedom: MPI_Request_free of a receive
// outcomes: the receive completes by itself (3.7.3)
// ranks: 2
// verdict: no errors

#include "freedoms.h"

/* The freed receive takes the first message. */
static void body(void) {
    if (me == 1) {
        int numbers[2] = {1, 2};
        MPI_Send(numbers, 1, MPI_INT, 0, 0, WORLD);
        MPI_Send(numbers + 1, 1, MPI_INT, 0, 0, WORLD);
    } else {
        static int number;
        MPI_Request request;
        MPI_Irecv(&number, 1, MPI_INT, 1, 0, WORLD, &request);
        MPI_Request_free(&request);
        assert(receive(1, 0) == 2);
    }
}
