// A master deals argv[1] tasks out to 1000 workers in turn, each a message of 1 KB and a computation.
#include "crossbar.hpp"

int main(int argc, char** argv)
{
  const long tasks   = std::atol(argv[1]);
  const long workers = 1000;
  Crossbar world(&argc, argv, workers + 1);
  const auto start = Usage::now();
  static int go    = 1;
  static int stop  = 0;
  std::vector<sg4::Mailbox*> mailboxes;
  for (long k = 0; k < workers; k++)
    mailboxes.push_back(sg4::Mailbox::by_name(std::to_string(k)));
  sg4::Actor::create("master", world.hosts[0], [=] {
    for (long task = 0; task < tasks; task++)
      mailboxes[task % workers]->put(&go, 1000);
    for (auto* mailbox : mailboxes)
      mailbox->put(&stop, 1000);
  });
  for (long k = 0; k < workers; k++) {
    auto* mailbox = mailboxes[k];
    sg4::Actor::create("worker", world.hosts[k + 1], [=] {
      while (*mailbox->get<int>() == 1)
        sg4::this_actor::execute(1e6);
    });
  }
  world.engine.run();
  report(start, static_cast<double>(tasks));
}
