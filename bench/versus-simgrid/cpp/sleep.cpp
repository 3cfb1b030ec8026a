// argv[1] actors that sleep 5 random times below 1 s each.
#include "common.hpp"

int main(int argc, char** argv)
{
  World world(&argc, argv);
  const long actors = std::atol(argv[1]);
  const auto start  = Usage::now();
  for (long i = 0; i < actors; i++)
    sg4::Actor::create("actor", world.first, [i] {
      std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL + 12345;
      for (int k = 0; k < 5; k++) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        sg4::this_actor::sleep_for(static_cast<double>(x >> 11) / 9007199254740992.0);
      }
    });
  world.engine.run();
  report(start, 5.0 * static_cast<double>(actors));
}
