// Prints the dates at which parallel tasks, computations and transfers end in SimGrid, for the test that compares ours with
// them. Arguments: the platform, then SimGrid's options. Standard input, a line for each: the date of the start, the number of
// hosts n, n hosts, n amounts of flop, n x n amounts of bytes. One host is a computation; two without flop and with bytes from
// the first to the second are a transfer. Output, in the order of the input: the date of the end.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

struct Task {
  double start = 0;
  std::vector<sg4::Host*> hosts;
  std::vector<double> flops;
  std::vector<double> bytes;
  double end = -1;
};

static void run(Task& task)
{
  sg4::this_actor::sleep_until(task.start);
  bool computes = false;
  for (double flops : task.flops)
    computes = computes || flops > 0;
  if (task.hosts.size() == 1)
    sg4::Exec::init()->set_flops_amount(task.flops[0])->set_host(task.hosts[0])->start()->wait();
  else if (task.hosts.size() == 2 && not computes)
    sg4::Comm::sendto(task.hosts[0], task.hosts[1], static_cast<std::uint64_t>(task.bytes[1]));
  else
    sg4::this_actor::parallel_execute(task.hosts, task.flops, task.bytes);
  task.end = sg4::Engine::get_clock();
}

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  std::vector<Task> tasks;
  std::size_t count;
  for (Task task; std::cin >> task.start >> count; tasks.push_back(task)) {
    task.hosts.clear();
    task.flops.resize(count);
    task.bytes.resize(count * count);
    for (std::size_t k = 0; k < count; k++) {
      std::string name;
      std::cin >> name;
      task.hosts.push_back(engine.host_by_name(name));
    }
    for (double& flops : task.flops)
      std::cin >> flops;
    for (double& bytes : task.bytes)
      std::cin >> bytes;
  }
  for (Task& task : tasks)
    sg4::Actor::create("one", engine.get_all_hosts()[0], [&task] { run(task); });
  engine.run();
  for (const Task& task : tasks)
    std::printf("%.17g\n", task.end);
}
