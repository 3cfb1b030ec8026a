// Ends of rank 1 in another place than its main function, by the first argument.

#define _GLIBCXX_ASSERTIONS

#include <argp.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <err.h>
#include <error.h>
#include <mpi.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

extern "C" void __stack_chk_fail(void);

// Its end is part of that of the rank.
struct Object {
  ~Object() { std::puts("destroyed"); }
};
static Object object;

static error_t parse(int key, char *, argp_state *state) {
  if (key == ARGP_KEY_END)
    argp_usage(state);
  return 0;
}

static void parse_arguments() {
  argp parser = {nullptr, parse, "ARGUMENT", "A test.", nullptr, nullptr, nullptr};
  char name[] = "exits", *arguments[] = {name, nullptr};
  argp_parse(&parser, 1, arguments, 0, nullptr, nullptr);
}

static void end(const std::string &how) {
  if (how == "errx")
    errx(3, "bad value %d", 7);
  else if (how == "err")
    err(4, "no file");
  else if (how == "error")
    error(5, 0, "bad number %.1f", 0.5);
  else if (how == "error_at_line")
    error_at_line(6, 0, "input", 12, "bad line");
  else if (how == "argp")
    parse_arguments();
  else if (how == "exit_group")
    syscall(SYS_exit_group, 0);
  else if (how == "thread_exit")
    syscall(SYS_exit, 0);
  else if (how == "_exit")
    _exit(0);
  else if (how == "quick_exit")
    quick_exit(0);
  else if (how == "library")
    std::printf("%c", std::vector<char>(how.begin(), how.end())[how.size()]);
  else if (how == "stack")
    __stack_chk_fail();
  else if (how == "status")
    syscall(SYS_exit_group, 9);
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::at_quick_exit([] { std::puts("quickly"); });
  if (rank == 1)
    end(argc > 1 ? argv[1] : "");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
