// Calls that a rank cannot make, by the first argument. The results of an ignored error are wrong.

#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <threads.h>
#include <unistd.h>

static double sum;

static void *add(void *) {
  sum += 1;
  return nullptr;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const std::string how = argc > 1 ? argv[1] : "";
  pthread_t thread;
  thrd_t other;
  if (how == "pthread_create")
    pthread_create(&thread, nullptr, add, nullptr);
  else if (how == "thrd_create")
    thrd_create(&other, [](void *) { return 0; }, nullptr);
  else if (how == "std::thread")
    std::thread([] { sum += 1; }).join();
  else if (how == "fork" && fork() == 0)
    sum += 1;
  else if (how == "exec")
    execl("/bin/true", "true", nullptr);
  std::printf("sum %f\n", sum);
  MPI_Finalize();
}
