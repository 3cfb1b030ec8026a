// argv[1] actors that lock and unlock one mutex argv[1] times each.
#include "common.hpp"

int main(int argc, char** argv)
{
  World world(&argc, argv);
  const long count = std::atol(argv[1]);
  const auto start = Usage::now();
  auto mutex       = sg4::Mutex::create();
  for (long i = 0; i < count; i++)
    sg4::Actor::create("actor", world.first, [count, mutex] {
      for (long k = 0; k < count; k++) {
        mutex->lock();
        mutex->unlock();
      }
    });
  world.engine.run();
  report(start, static_cast<double>(count) * static_cast<double>(count));
}
