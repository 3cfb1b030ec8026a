// 1 byte there and 1 MB back, argv[1] times, between two hosts of a crossbar.
#include "crossbar.hpp"

int main(int argc, char** argv)
{
  Crossbar world(&argc, argv, 2);
  const long count = std::atol(argv[1]);
  const auto start = Usage::now();
  auto* there      = sg4::Mailbox::by_name("there");
  auto* back       = sg4::Mailbox::by_name("back");
  static int word  = 1;
  sg4::Actor::create("ping", world.hosts[0], [=] {
    for (long k = 0; k < count; k++) {
      there->put(&word, 1);
      back->get<int>();
    }
  });
  sg4::Actor::create("pong", world.hosts[1], [=] {
    for (long k = 0; k < count; k++) {
      there->get<int>();
      back->put(&word, 1000000);
    }
  });
  world.engine.run();
  report(start, 2.0 * static_cast<double>(count));
}
