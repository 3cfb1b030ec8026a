/* Standard streams and their descriptors, which are those of a rank. Prints to the files of its
 * first argument, with the rank behind the name. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void require(int line, int holds) {
  if (!holds) {
    fprintf(stderr, "line %d\n", line);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}
#define REQUIRE(condition) require(__LINE__, condition)

/* Writes to descriptor 1 in each way. */
static void write_lines(int rank) {
  struct iovec parts[2] = {{"vec", 3}, {"tor\n", 4}};
  REQUIRE(write(1, "written\n", 8) == 8);
  REQUIRE(writev(STDOUT_FILENO, parts, 2) == 7);
  REQUIRE(dprintf(1, "formatted %d %.1f %s %d %d %d %d\n", rank, 0.5, "text", 4, 5, 6, 7) > 0);
  REQUIRE(syscall(SYS_write, 1, "called\n", 7) == 7);
  REQUIRE(syscall(SYS_writev, 1, parts, 2) == 7);
  FILE *copy = fdopen(dup(1), "w");
  REQUIRE(copy != NULL && fileno(copy) > 2 && fputs("copied\n", copy) > 0 && fclose(copy) == 0);
}

int main(int argc, char **argv) {
  int rank;
  char name[256], line[64] = "";
  struct stat state;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  REQUIRE(fileno(stdin) == 0 && fileno(stdout) == 1 && fileno(stderr) == 2);
  REQUIRE(!isatty(1) && !isatty(fileno(stderr)) && errno == ENOTTY);
  REQUIRE(fstat(1, &state) == 0 && S_ISFIFO(state.st_mode) && lseek(1, 0, SEEK_CUR) == -1);
  setvbuf(stdout, NULL, _IOFBF, 4096);
  setlinebuf(stdout);
  if (argc < 2) {
    /* An unfinished line waits for its rest. */
    printf("begun ");
    MPI_Barrier(MPI_COMM_WORLD);
    write_lines(rank);
    REQUIRE(write(2, "logged\n", 7) == 7);
    REQUIRE(close(1) == 0 && write(1, "lost\n", 5) == -1 && errno == EBADF);
    MPI_Finalize();
    return 0;
  }
  /* Output to a file, and back. */
  snprintf(name, sizeof name, "%s-%d", argv[1], rank);
  int file = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600), output = dup(1);
  REQUIRE(file > 2 && output > 2 && dup2(file, 1) == 1);
  printf("to a file %d\n", rank);
  MPI_Barrier(MPI_COMM_WORLD);
  write_lines(rank);
  REQUIRE(fstat(1, &state) == 0 && S_ISREG(state.st_mode));
  REQUIRE(syscall(SYS_dup2, output, 1) == 1 && close(output) == 0 && close(file) == 0);
  printf("back %d\n", rank);
  /* The file as the standard input. */
  REQUIRE(freopen(name, "r", stdin) == stdin && fgets(line, sizeof line, stdin) != NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("read %s", line);
  /* By a stream, of which the address stays. */
  FILE *before = stdout;
  REQUIRE(freopen(name, "a", stdout) == before && stdout == before);
  printf("appended %d\n", rank);
  MPI_Barrier(MPI_COMM_WORLD);
  puts("last");
  MPI_Finalize();
  return 0;
}
