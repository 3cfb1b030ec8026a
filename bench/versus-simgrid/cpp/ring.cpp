// A ring of argv[1] actors: every actor sends 1 KB to the next and receives from the one before, all at once.
#include <algorithm>

#include "crossbar.hpp"

int main(int argc, char** argv)
{
  const long count = std::atol(argv[1]);
  Crossbar world(&argc, argv, count);
  const long rounds = std::max(100000L / count, 1L);
  const auto start  = Usage::now();
  static int word   = 1;
  for (long k = 0; k < count; k++) {
    auto* own  = sg4::Mailbox::by_name(std::to_string(k));
    auto* next = sg4::Mailbox::by_name(std::to_string((k + 1) % count));
    sg4::Actor::create("actor", world.hosts[k], [=] {
      for (long round = 0; round < rounds; round++) {
        auto sending = next->put_async(&word, 1000);
        own->get<int>();
        sending->wait();
      }
    });
  }
  world.engine.run();
  report(start, static_cast<double>(count) * static_cast<double>(rounds));
}
