/* For 2 ranks: MPI_Win_lock need not wait until the lock is granted (MPI 5.0, 12.5.3), so the access
   of rank 1 can come first although rank 0 asks for the lock before. With the argument "waits" rank 1
   holds the lock until rank 0, which asks for the lock, has sent: a deadlock if MPI_Win_lock waits. */
#include <assert.h>
#include <mpi.h>

int main(int count, char **arguments)
{
    MPI_Init(&count, &arguments);
    int rank, *memory, number = 0, one = 1, two = 2;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Win window;
    MPI_Comm_rank(world, &rank);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, world, &memory, &window);
    int waits = count > 1;
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, window);
        if (waits)
            MPI_Send(&number, 1, MPI_INT, 1, 0, world);
        else
            MPI_Recv(&number, 1, MPI_INT, 1, 0, world, MPI_STATUS_IGNORE);
        MPI_Win_unlock(1, window);
    } else {
        if (!waits)
            MPI_Ssend(&number, 1, MPI_INT, 0, 0, world);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Accumulate(&two, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, window);
        if (waits)
            MPI_Recv(&number, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
        MPI_Win_unlock(1, window);
    }
    MPI_Barrier(world);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    assert(waits || rank == 0 || *memory == 2);
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
