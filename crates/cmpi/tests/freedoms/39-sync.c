// freedom: MPI_Win_sync in a loop that reads the window
// outcomes: the loop sees an access some time after the access was made (12.7)
// ranks: 2
// verdict: no errors

#include "freedoms.h"

static void body(void) {
    int *memory, one = 1;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    if (me == 0) {
        while (*(volatile int *)memory == 0)
            MPI_Win_sync(window);
    } else {
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}
