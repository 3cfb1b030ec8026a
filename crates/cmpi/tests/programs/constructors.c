/* For 3 ranks: rank 1 receives before a call that all ranks make, and rank 2 sends after its call:
   a deadlock if the call waits for all ranks (MPI 5.0, 6.13 and 7.4.2). */
#include <mpi.h>
#include <string.h>

int main(int count, char **arguments)
{
    MPI_Init(&count, &arguments);
    int rank, number = 7;
    MPI_Comm world = MPI_COMM_WORLD, made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group all;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_group(world, &all);
    if (rank == 1)
        MPI_Recv(&number, 1, MPI_INT, 2, 0, world, MPI_STATUS_IGNORE);
    if (count > 1 && !strcmp(arguments[1], "init"))
        MPI_Bcast_init(&number, 1, MPI_INT, 1, world, MPI_INFO_NULL, &request);
    if (count > 1 && !strcmp(arguments[1], "group"))
        MPI_Comm_create_group(world, all, 3, &made);
    if (rank == 2)
        MPI_Ssend(&number, 1, MPI_INT, 1, 0, world);
    MPI_Group_free(&all);
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    MPI_Finalize();
    return 0;
}
