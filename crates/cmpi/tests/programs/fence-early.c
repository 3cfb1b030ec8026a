/* For 3 ranks: a fence with MPI_MODE_NOPRECEDE need not wait (MPI 5.0, 12.5.1), so rank 0 can
   receive the message of rank 1 before its fence. With an argument rank 0 needs that message: a
   deadlock if the fence waits. */
#include <assert.h>
#include <mpi.h>

int main(int count, char **arguments)
{
    MPI_Init(&count, &arguments);
    int rank, *memory, source, one = 1;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Win window;
    MPI_Comm_rank(world, &rank);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, world, &memory, &window);
    *memory = 0;
    MPI_Barrier(world);
    int waits = count > 1;
    if (rank == 0) {
        MPI_Recv(&source, 1, MPI_INT, waits ? 1 : MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
        assert(waits || source == 2);
    }
    if (rank == 2)
        MPI_Send(&rank, 1, MPI_INT, 0, 0, world);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    if (rank == 1)
        MPI_Send(&rank, 1, MPI_INT, 0, 0, world);
    if (rank == 0)
        MPI_Recv(&source, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    assert(rank != 0 || *memory == 3);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
