/* For 3 ranks: MPI_Win_start need not wait for MPI_Win_post (MPI 5.0, 12.5.2), so rank 1 can
   receive the message of rank 0 first. With the argument "waits" rank 1 needs that message before
   it posts: a deadlock if MPI_Win_start waits. */
#include <assert.h>
#include <mpi.h>

int main(int count, char **arguments)
{
    MPI_Init(&count, &arguments);
    int rank, *memory, source, put = 7;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Win window;
    MPI_Group all, other;
    MPI_Comm_rank(world, &rank);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, world, &memory, &window);
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, (int[]){ rank == 0 }, &other);
    int waits = count > 1;
    if (rank == 0) {
        MPI_Win_start(other, 0, window);
        MPI_Put(&put, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
        MPI_Send(&rank, 1, MPI_INT, 1, 0, world);
        MPI_Win_complete(window);
    } else if (rank == 1) {
        MPI_Recv(&source, 1, MPI_INT, waits ? 0 : MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
        assert(waits || source == 2);
        MPI_Win_post(other, 0, window);
        MPI_Recv(&source, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
        MPI_Win_wait(window);
        assert(*memory == 7);
    } else {
        MPI_Send(&rank, 1, MPI_INT, 1, 0, world);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&other);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
