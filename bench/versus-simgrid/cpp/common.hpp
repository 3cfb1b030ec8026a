// What every program of this folder shares: the platform, and the line that the runner reads.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

struct Usage {
  double user_s;
  long peak_kib;

  static Usage now()
  {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec),
            usage.ru_maxrss};
  }
};

// Two hosts and a link of 1 us; the engine reads its options before that.
struct World {
  sg4::Engine engine;
  sg4::Host* first  = nullptr;
  sg4::Host* second = nullptr;

  World(int* argc, char** argv) : engine(argc, argv)
  {
    auto* zone = sg4::create_full_zone("world");
    first      = zone->create_host("first", 1e9);
    second     = zone->create_host("second", 1e9);
    auto* link = zone->create_link("link", 1e10)->set_latency(1e-6)->seal();
    zone->add_route(first->get_netpoint(), second->get_netpoint(), nullptr, nullptr, {sg4::LinkInRoute(link)}, true);
    zone->seal();
  }
};

// The same line as our side prints: what was used from `start` on.
inline void report(const Usage& start, double operations)
{
  const auto end = Usage::now();
  std::printf("operations=%.0f user_s=%.6f memory_kib=%ld\n", operations, end.user_s - start.user_s,
              end.peak_kib - start.peak_kib);
}
