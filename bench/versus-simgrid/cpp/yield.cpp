// Two actors that let each other go first, argv[1] times each.
#include "common.hpp"

int main(int argc, char** argv)
{
  World world(&argc, argv);
  const long count = std::atol(argv[1]);
  const auto start = Usage::now();
  for (int i = 0; i < 2; i++)
    sg4::Actor::create("actor", world.first, [count] {
      for (long k = 0; k < count; k++)
        sg4::this_actor::yield();
    });
  world.engine.run();
  report(start, 2.0 * static_cast<double>(count));
}
