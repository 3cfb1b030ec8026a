/* Rank 0 gets from the window of rank 1, which gets into its own part of the window: into the same
   places ("same") or into others ("other"). Nothing orders the two accesses. */
#include <mpi.h>
#include <string.h>

int main(int count, char **arguments) {
    int rank, memory[16] = {0}, got[4];
    MPI_Win window;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int first = strcmp(arguments[1], "same") == 0 ? 2 : 4;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
    int *to = rank == 0 ? got : memory + first;
    MPI_Get(to, 4, MPI_INT, 1 - rank, 0, 4, MPI_INT, window);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
