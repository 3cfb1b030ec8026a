// Random flows between the hosts of a platform. Arguments: the platform (XML); how flows start: all at once (drain), at
// dates of their own (arrivals), or the next one as soon as one has ended (churn); the number of flows, or of those in
// flight; the number of completions after which a churn ends at the latest, and the seconds of user time; the file
// for the dates. Twin: `src/flows/child.rs`, with the same random numbers.
#include <string>
#include <unistd.h>
#include <vector>

#include "common.hpp"

// splitmix64.
struct Random {
  std::uint64_t state = 42;

  std::uint64_t below(std::uint64_t limit)
  {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z               = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z               = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (z ^ (z >> 31)) % limit;
  }
};

// One flow after the other, always the same ones.
struct Flows {
  Random random;
  std::uint64_t hosts;
  std::uint64_t microseconds = 0;

  struct Flow {
    std::uint64_t from;
    std::uint64_t to;
    std::uint64_t bytes;
    double date;
  };

  Flow next()
  {
    const auto from  = random.below(hosts);
    const auto other = random.below(hosts - 1);
    const auto bytes = 100000000 + random.below(100000001);
    microseconds += random.below(2000);
    return {from, other < from ? other : other + 1, bytes, static_cast<double>(microseconds) * 1e-6};
  }
};

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  const std::string mode = argv[2];
  const long count       = std::atol(argv[3]);
  const long completions = std::atol(argv[4]);
  const double seconds   = std::atof(argv[5]);
  auto* dates            = std::fopen(argv[6], "w");
  std::vector<sg4::Host*> hosts;
  for (std::size_t k = 0; k < engine.get_host_count(); k++)
    hosts.push_back(engine.host_by_name("node-" + std::to_string(k)));
  Flows flows{{}, hosts.size()};
  for (int k = 0; k < 100; k++) {
    const auto flow = flows.next();
    std::vector<sg4::Link*> links;
    double latency = 0;
    hosts[flow.from]->route_to(hosts[flow.to], links, &latency);
    std::fprintf(dates, "route %d %zu %.17g\n", k, links.size(), latency);
  }
  flows = {{}, hosts.size()};

  auto start = Usage::now();
  start.peak_kib = 0; // The whole memory of the process is told.
  long ended = 0;
  long taken = 0;
  auto end   = [&](long number) {
    std::fprintf(dates, "end %ld %.17g\n", number, sg4::Engine::get_clock());
    ended++;
  };
  auto churn = [&] {
    while (true) {
      const auto flow   = flows.next();
      const long number = taken++;
      sg4::Comm::sendto(hosts[flow.from], hosts[flow.to], flow.bytes);
      end(number);
      if (ended == 1)
        start.user_s = Usage::now().user_s;
      else if (ended > completions || Usage::now().user_s - start.user_s > seconds) {
        std::fclose(dates);
        report(start, static_cast<double>(ended - 1));
        std::fflush(stdout);
        _exit(0); // The flows in flight would take long to end.
      }
    }
  };
  for (long number = 0; number < count; number++) {
    if (mode == "churn") {
      sg4::Actor::create("flow", hosts[0], churn);
      continue;
    }
    const auto flow = flows.next();
    sg4::Actor::create("flow", hosts[0], [&, flow, number] {
      if (mode == "arrivals")
        sg4::this_actor::sleep_until(flow.date);
      sg4::Comm::sendto(hosts[flow.from], hosts[flow.to], flow.bytes);
      end(number);
    });
  }
  engine.run();
  std::fclose(dates);
  report(start, static_cast<double>(ended));
}
