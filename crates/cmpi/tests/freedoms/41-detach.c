// freedom: MPI_Buffer_detach and MPI_Buffer_flush after MPI_Bsend
// outcomes: may wait for the receives of the messages in the buffer or not (3.6)
// ranks: 2
// verdict: errors
// condition: message

#include "freedoms.h"

/* The receive of the message in the buffer comes after a message that is sent behind the detach. */
static void body(void) {
    static char room[1000];
    void *buffer;
    int size;
    if (me == 1) {
        receive(0, 1);
        receive(0, 0);
        return;
    }
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(&me, 1, MPI_INT, 1, 0, WORLD);
    MPI_Buffer_detach(&buffer, &size);
    send_to(1, 1);
}
