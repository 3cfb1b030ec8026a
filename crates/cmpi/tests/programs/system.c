/* State of the C library that ranks do not share: they call in turn between two calls of each. */

#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int caught;

static void on_signal(int number) { caught += number; }

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && strcmp(argv[1], "raise") == 0)
    raise(SIGTERM);
  char words[] = "one two three", letters[] = "a b c", host[64], line[64] = "nothing";
  char *token = strtok(rank ? letters : words, " ");
  time_t seconds = rank * 86400;
  struct tm *date = gmtime(&seconds);
  char *text = strerror(rank ? ENOENT : EINVAL);
  setenv("OWN", rank ? "second" : "first", 1);
  if (rank == 1)
    unsetenv("HOME");
  signal(SIGUSR1, rank ? SIG_IGN : on_signal);
  MPI_Barrier(MPI_COMM_WORLD);
  token = strtok(NULL, " ");
  raise(SIGUSR1);
  gethostname(host, sizeof host);
  struct utsname name;
  uname(&name);
  if (scanf("%63s", line) != 1)
    strcpy(line, "end");
  int entries = 0;
  for (char **entry = environ; *entry; entry++)
    entries += strncmp(*entry, "OWN=", 4) == 0;
  printf("%s %d %s %s %s %d %d %s %d %d %s %ld\n", token, date->tm_mday, text, getenv("OWN"),
         getenv("HOME") ? "home" : "none", entries, caught, host, strcmp(host, name.nodename),
         getpid(), line, sysconf(_SC_NPROCESSORS_ONLN));
  if (kill(1, SIGTERM) != -1 || errno != ENOSYS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  /* The same in each execution under check: the tag of a message. */
  unsigned char drawn[2] = {0, 0};
  if (argc > 1 && getrandom(drawn, 2, 0) == 2) {
    if (rank > 0)
      MPI_Send(&rank, 1, MPI_INT, 0, drawn[0] * 100 + drawn[1], MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < 3; i++)
      MPI_Recv(&caught, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
