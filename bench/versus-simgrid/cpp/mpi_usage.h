/* What the MPI programs of this folder share: the line that the runner reads. All ranks live in one process and, without
   privatization, share its variables: the first rank that starts and the last one that ends make the measurement. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static int started, ended;
static double user_before;
static long peak_before;

static double usage(long* peak_kib)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  *peak_kib = usage.ru_maxrss;
  return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

static void begin(void)
{
  if (started++ == 0)
    user_before = usage(&peak_before);
}

static void end(int ranks, double operations)
{
  if (++ended < ranks)
    return;
  long peak;
  const double user = usage(&peak);
  printf("operations=%.0f user_s=%.6f memory_kib=%ld\n", operations, user - user_before, peak - peak_before);
  fflush(stdout);
}
