// Prints the dates of transfers on a SimGrid platform, for the test that compares ours with them. Arguments: the platform,
// then SimGrid's options. Lines, with tabs: lone or together, from, to, bytes, date of the start, date of the end.
// SET_LINK="NAME BYTES_PER_SECOND" in the environment changes a link before anything begins.
// Where traces are connected with elements, also of computations: compute, host, host, flop, start, end.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

struct Random {
  std::uint64_t state = 7;

  std::uint64_t below(std::uint64_t limit)
  {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z               = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z               = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (z ^ (z >> 31)) % limit;
  }
};

static void transfer(const char* kind, const sg4::Host* from, const sg4::Host* to, std::uint64_t bytes)
{
  const double start = sg4::Engine::get_clock();
  sg4::Comm::sendto(const_cast<sg4::Host*>(from), const_cast<sg4::Host*>(to), bytes);
  std::printf("%s\t%s\t%s\t%llu\t%.17g\t%.17g\n", kind, from->get_cname(), to->get_cname(),
              static_cast<unsigned long long>(bytes), start, sg4::Engine::get_clock());
}

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  if (const char* change = std::getenv("SET_LINK")) {
    std::istringstream words(change);
    std::string name;
    double bandwidth;
    words >> name >> bandwidth;
    sg4::Link::by_name(name)->set_bandwidth(bandwidth);
  }
  auto hosts = engine.get_all_hosts();
  std::sort(hosts.begin(), hosts.end(), [](auto* a, auto* b) { return a->get_name() < b->get_name(); });
  // All stations have the first rate of their zone.
  for (auto* link : engine.get_all_links())
    if (link->get_sharing_policy() == sg4::Link::SharingPolicy::WIFI)
      for (auto* host : hosts)
        link->set_host_wifi_rate(host, 0);
  Random random;
  // Pairs with a way between them, a host and itself among them.
  std::vector<std::pair<sg4::Host*, sg4::Host*>> pairs;
  for (int k = 0; k < 200 && pairs.size() < 12; k++) {
    auto* from = hosts[random.below(hosts.size())];
    auto* to   = k % 8 == 7 ? from : hosts[random.below(hosts.size())];
    std::vector<sg4::Link*> links;
    double latency = 0;
    try {
      from->route_to(to, links, &latency);
    } catch (const std::out_of_range&) { // 3.32 does not find the way through a router of routing="Cluster".
      std::fprintf(stderr, "%s: no way from %s to %s\n", argv[1], from->get_cname(), to->get_cname());
    }
    if (not links.empty())
      pairs.emplace_back(from, to);
  }
  std::ifstream file(argv[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.find("<trace_connect") != std::string::npos)
    for (auto* host : hosts)
      sg4::Actor::create("computer", hosts[0], [host] {
        for (double flops : {1e4, 5e8, 5e9}) {
          const double start = sg4::Engine::get_clock();
          sg4::Exec::init()->set_flops_amount(flops)->set_host(host)->start()->wait();
          std::printf("compute\t%s\t%s\t%.17g\t%.17g\t%.17g\n", host->get_cname(), host->get_cname(), flops, start,
                      sg4::Engine::get_clock());
        }
      });
  sg4::Actor::create("all", hosts[0], [&] {
    for (auto [from, to] : pairs)
      for (std::uint64_t bytes : {1, 1000, 100000, 30000000}) {
        transfer("lone", from, to, bytes);
        // The next one starts at a whole second, so that its own digits stay.
        sg4::this_actor::sleep_until(std::floor(sg4::Engine::get_clock()) + 1);
      }
    const double begin = sg4::Engine::get_clock();
    for (int k = 0; k < 40; k++) {
      auto [from, to] = pairs[random.below(pairs.size())];
      auto bytes      = 1 + random.below(10000000);
      auto start      = begin + static_cast<double>(random.below(4) * 125) / 1000;
      sg4::Actor::create("one", hosts[0], [from = from, to = to, bytes, start] {
        sg4::this_actor::sleep_until(start);
        transfer("together", from, to, bytes);
      });
    }
  });
  engine.run();
}
