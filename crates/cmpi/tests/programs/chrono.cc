// Clocks and waits of C++, of which some are in the library that all ranks share.

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <future>
#include <mpi.h>
#include <mutex>
#include <thread>

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// Ends the program unless so many milliseconds have passed on both clocks and in MPI.
struct Watch {
  steady_clock::time_point steady = steady_clock::now();
  system_clock::time_point system = system_clock::now();
  double begin = MPI_Wtime();

  void passed(const char *name, double expected) const {
    const std::chrono::duration<double, std::milli> one = steady_clock::now() - steady;
    const std::chrono::duration<double, std::milli> two = system_clock::now() - system;
    for (double time : {one.count(), two.count(), (MPI_Wtime() - begin) * 1e3})
      if (time < expected - 1e-3 || time > expected + 1e-3) {
        std::printf("%s: %.6f ms instead of %.6f\n", name, time, expected);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
  }
};

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile double sum = 0;
  const Watch computed;
  for (int i = 0; i < 1000000; i++)
    sum = sum + i;
  computed.passed("no time", 0);
  const Watch slept;
  std::this_thread::sleep_for(milliseconds(5));
  std::this_thread::sleep_until(system_clock::now() + milliseconds(5));
  slept.passed("sleeps", 10);
  const Watch waited;
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock<std::mutex> lock(mutex);
  if (condition.wait_for(lock, milliseconds(5)) != std::cv_status::timeout)
    MPI_Abort(MPI_COMM_WORLD, 2);
  waited.passed("a condition", 5);
  // This waits inside of the library.
  const Watch promised;
  std::promise<int> promise;
  if (promise.get_future().wait_for(milliseconds(5)) != std::future_status::timeout)
    MPI_Abort(MPI_COMM_WORLD, 3);
  promised.passed("a promise", 5);
  const double now = 946684800 + MPI_Wtime();
  if (system_clock::to_time_t(system_clock::now()) != std::time(nullptr) ||
      std::chrono::duration<double>(system_clock::now().time_since_epoch()).count() > now + 1e-3)
    MPI_Abort(MPI_COMM_WORLD, 4);
  if (rank == 0)
    std::puts("ok");
  MPI_Finalize();
}
