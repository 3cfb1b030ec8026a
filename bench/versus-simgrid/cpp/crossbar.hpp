// The platform of the network workloads: equal hosts around one switch, each with a split-duplex link.
#pragma once

#include <string>
#include <vector>

#include "common.hpp"

struct Crossbar {
  sg4::Engine engine;
  std::vector<sg4::Host*> hosts;

  Crossbar(int* argc, char** argv, long count) : engine(argc, argv)
  {
    auto* zone = sg4::create_star_zone("nodes");
    for (long k = 0; k < count; k++) {
      const auto name = std::to_string(k);
      auto* host      = zone->create_host("node-" + name, 1e9);
      auto* link      = zone->create_split_duplex_link("link-" + name, 1.25e9)->set_latency(10e-6)->seal();
      zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                      {sg4::LinkInRoute(link, sg4::LinkInRoute::Direction::UP)}, true);
      hosts.push_back(host);
    }
    zone->seal();
  }
};
