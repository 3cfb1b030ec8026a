// A message of 8 bytes there and one back, argv[1] times, between two hosts.
#include "common.hpp"

int main(int argc, char** argv)
{
  World world(&argc, argv);
  const long count = std::atol(argv[1]);
  const auto start = Usage::now();
  auto* there      = sg4::Mailbox::by_name("there");
  auto* back       = sg4::Mailbox::by_name("back");
  static int word  = 1;
  sg4::Actor::create("ping", world.first, [=] {
    for (long k = 0; k < count; k++) {
      there->put(&word, 8);
      back->get<int>();
    }
  });
  sg4::Actor::create("pong", world.second, [=] {
    for (long k = 0; k < count; k++) {
      there->get<int>();
      back->put(&word, 8);
    }
  });
  world.engine.run();
  report(start, 2.0 * static_cast<double>(count));
}
