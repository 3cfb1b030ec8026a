/* Clocks and waits of the C library take and tell simulated time. By the first argument: "before"
 * reads a clock before MPI_Init, "values" sends what clocks and waits return, "condition" waits for
 * a thread that does not exist. */

#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { MILLION = 1000000, BILLION = 1000000000 };

static double start;

/* Ends the program unless so many milliseconds have passed since the latest call of this. */
static void passed(const char *name, double milliseconds) {
  double now = MPI_Wtime(), time = (now - start) * 1e3;
  if (time < milliseconds - 1e-3 || time > milliseconds + 1e-3) {
    printf("%s: %.6f ms instead of %.6f\n", name, time, milliseconds);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  start = now;
}

static double seconds(struct timespec time) { return time.tv_sec + time.tv_nsec * 1e-9; }

static struct timespec later(clockid_t clock, long nanoseconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += nanoseconds;
  time.tv_sec += time.tv_nsec / BILLION;
  time.tv_nsec %= BILLION;
  return time;
}

static void expect(const char *name, double found, double expected) {
  if (found < expected - 2e-6 || found > expected + 2e-6) {
    printf("%s: %.9f instead of %.9f\n", name, found, expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void sleeps(void) {
  struct timespec five = {0, 5 * MILLION}, end;
  struct timeval time = {0, 5000};
  sigset_t none;
  sigemptyset(&none);
  passed("nothing", 0);
  sleep(1), passed("sleep", 1000);
  usleep(5000), passed("usleep", 5);
  nanosleep(&five, NULL), passed("nanosleep", 5);
  thrd_sleep(&five, NULL), passed("thrd_sleep", 5);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &five, NULL), passed("clock_nanosleep", 5);
  end = later(CLOCK_REALTIME, 5 * MILLION);
  clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, NULL), passed("absolute", 5);
  select(0, NULL, NULL, NULL, &time), passed("select", 5);
  pselect(0, NULL, NULL, NULL, &five, NULL), passed("pselect", 5);
  poll(NULL, 0, 5), passed("poll", 5);
  ppoll(NULL, 0, &five, NULL), passed("ppoll", 5);
  if (sigtimedwait(&none, NULL, &five) != -1 || errno != EAGAIN)
    MPI_Abort(MPI_COMM_WORLD, 2);
  passed("sigtimedwait", 5);
  /* As calls of the system. */
  time.tv_usec = 5000;
  syscall(SYS_select, 0, NULL, NULL, NULL, &time), passed("SYS_select", 5);
  syscall(SYS_pselect6, 0, NULL, NULL, NULL, &five, NULL), passed("SYS_pselect6", 5);
  syscall(SYS_poll, NULL, 0, 5), passed("SYS_poll", 5);
  syscall(SYS_ppoll, NULL, 0, &five, NULL, 8), passed("SYS_ppoll", 5);
  syscall(SYS_nanosleep, &five, NULL), passed("SYS_nanosleep", 5);
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &five, NULL), passed("SYS_clock_nanosleep", 5);
  syscall(SYS_rt_sigtimedwait, &none, NULL, &five, 8), passed("SYS_rt_sigtimedwait", 5);
  syscall(SYS_alarm, 1), sleep(2), passed("SYS_alarm", 2000);
  five.tv_nsec = BILLION;
  if (nanosleep(&five, NULL) != -1 || errno != EINVAL)
    MPI_Abort(MPI_COMM_WORLD, 3);
  passed("an invalid time", 0);
}

static void descriptors(void) {
  int ends[2], set = epoll_create1(0);
  char byte = 1;
  struct epoll_event event = {.events = EPOLLIN};
  struct timeval time = {0, 2500};
  fd_set readable;
  if (pipe(ends) != 0 || epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) != 0)
    MPI_Abort(MPI_COMM_WORLD, 4);
  struct pollfd one = {.fd = ends[0], .events = POLLIN};
  FD_ZERO(&readable);
  FD_SET(ends[0], &readable);
  int found = poll(&one, 1, 7);
  passed("poll of a pipe", 7);
  found += select(ends[0] + 1, &readable, NULL, NULL, &time);
  passed("select of a pipe", 2.5);
  found += epoll_wait(set, &event, 1, 3);
  passed("epoll_wait", 3);
  found += syscall(SYS_epoll_wait, set, &event, 1, 3);
  passed("SYS_epoll_wait", 3);
  if (found != 0 || FD_ISSET(ends[0], &readable) || write(ends[1], &byte, 1) != 1)
    MPI_Abort(MPI_COMM_WORLD, 5);
  FD_SET(ends[0], &readable);
  found = poll(&one, 1, -1) + epoll_wait(set, &event, 1, 100);
  found += select(ends[0] + 1, &readable, NULL, NULL, NULL);
  if (found != 3)
    MPI_Abort(MPI_COMM_WORLD, 6);
  passed("descriptors that are ready", 0);
  close(ends[0]);
  close(ends[1]);
  close(set);
}

static void threads(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  sem_t semaphore;
  int word = 7;
  struct timespec end = later(CLOCK_REALTIME, 5 * MILLION);
  sem_init(&semaphore, 0, 1);
  pthread_mutex_lock(&mutex);
  int errors = pthread_cond_timedwait(&condition, &mutex, &end) != ETIMEDOUT;
  passed("pthread_cond_timedwait", 5);
  end = later(CLOCK_MONOTONIC, 5 * MILLION);
  errors += pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &end) != ETIMEDOUT;
  passed("pthread_cond_clockwait", 5);
  end = later(CLOCK_REALTIME, 5 * MILLION);
  errors += pthread_mutex_timedlock(&mutex, &end) != ETIMEDOUT;
  passed("pthread_mutex_timedlock", 5);
  end = later(CLOCK_REALTIME, 5 * MILLION);
  errors += sem_timedwait(&semaphore, &end) != 0;
  passed("sem_timedwait of a free one", 0);
  errors += sem_timedwait(&semaphore, &end) != -1 || errno != ETIMEDOUT;
  passed("sem_timedwait", 5);
  struct timespec five = {0, 5 * MILLION};
  /* FUTEX_WAIT */
  errors += syscall(SYS_futex, &word, 0, 7, &five) != -1 || errno != ETIMEDOUT;
  passed("a wait for a variable", 5);
  if (errors != 0)
    MPI_Abort(MPI_COMM_WORLD, 7);
}

static void clocks(void) {
  struct timespec before, after, calendar, step;
  struct timeval day;
  struct rusage used;
  struct tms ticks;
  clock_t ticked = times(&ticks);
  clock_gettime(CLOCK_MONOTONIC, &before);
  expect("CLOCK_MONOTONIC", seconds(before), MPI_Wtime());
  sleep(2);
  clock_gettime(CLOCK_MONOTONIC, &after);
  expect("difference", seconds(after) - seconds(before), 2);
  expect("times", times(&ticks) - ticked, 200);
  clock_gettime(CLOCK_REALTIME, &calendar);
  double now = 946684800 + MPI_Wtime();
  expect("CLOCK_REALTIME", seconds(calendar), now);
  timespec_get(&calendar, TIME_UTC);
  expect("timespec_get", seconds(calendar), now);
  gettimeofday(&day, NULL);
  expect("gettimeofday", day.tv_sec + day.tv_usec * 1e-6, now);
  expect("time", time(NULL), (double)(long)now);
  /* By a pointer that is found at run time, and as a call of the system. */
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &calendar);
  expect("syscall", seconds(calendar), now);
  clock_getres(CLOCK_MONOTONIC, &step);
  expect("clock_getres", seconds(step), 1e-9);
  step.tv_nsec = 0;
  syscall(SYS_clock_getres, CLOCK_MONOTONIC, &step);
  expect("SYS_clock_getres", seconds(step), 1e-9);
  if (clock_gettime(1000, &step) != -1 || errno != EINVAL)
    MPI_Abort(MPI_COMM_WORLD, 8);
  /* 3 of these seconds were slept, and none was computed. */
  getrusage(RUSAGE_SELF, &used);
  double user = used.ru_utime.tv_sec + used.ru_utime.tv_usec * 1e-6;
  double processor = user + used.ru_stime.tv_sec + used.ru_stime.tv_usec * 1e-6;
  expect("user time", user, 0);
  expect("clock", (double)clock() / CLOCKS_PER_SEC, processor);
  if (processor > 0.1)
    MPI_Abort(MPI_COMM_WORLD, 9);
}

/* Sends what these functions store and return. */
static void values(int rank) {
  struct {
    struct timespec real, base, step, rest;
    struct timeval day, left;
    struct rusage used;
    struct tms ticks;
    long numbers[8];
  } all;
  memset(&all, 0, sizeof all);
  all.left.tv_usec = 10;
  clock_gettime(CLOCK_REALTIME, &all.real);
  timespec_get(&all.base, TIME_UTC);
  clock_getres(CLOCK_MONOTONIC, &all.step);
  gettimeofday(&all.day, NULL);
  getrusage(RUSAGE_SELF, &all.used);
  long numbers[8] = {times(&all.ticks), clock(), time(NULL), select(0, 0, 0, 0, &all.left)};
  memcpy(all.numbers, numbers, sizeof numbers);
  if (rank > 0)
    MPI_Send(&all, sizeof all, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < 3; i++)
    MPI_Recv(&all, sizeof all, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int rank;
  time_t now = strcmp(mode, "before") == 0 ? time(NULL) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  start = MPI_Wtime();
  if (strcmp(mode, "") == 0) {
    sleeps();
    descriptors();
    threads();
    clocks();
  } else if (strcmp(mode, "values") == 0)
    values(rank);
  else if (strcmp(mode, "condition") == 0) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&condition, &mutex);
  } else if (now != 946684800)
    MPI_Abort(MPI_COMM_WORLD, 10);
  if (rank == 0 && strcmp(mode, "values") != 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
