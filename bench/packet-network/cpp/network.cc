// Packets over point-to-point links in ns-3: store and forward, one FIFO queue for each link.
//
// Standard input: the number of links, and for each its rate in bit/s and delay in ps; the number of flows, and for each its number of packets, and the
// number and the numbers of its links. All packets have the bytes of the argument, on the wire. Flows start at once; a host sends the next packet of a
// flow when the one before it has started. Standard output: for each flow when its last packet has arrived, in ps; then the hops and the user CPU seconds.

#include <sys/resource.h>

#include <cstdint>
#include <iostream>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

namespace {

struct Link {
  ns3::Ptr<ns3::PointToPointNetDevice> sender;
};

struct Flow {
  std::uint32_t left;
  std::vector<std::uint32_t> links;
  std::int64_t end = 0;
};

// The flow of a packet, and the number of the link that it is on in its route.
class Place : public ns3::Tag {
public:
  std::uint32_t flow = 0;
  std::uint32_t hop = 0;

  static ns3::TypeId GetTypeId()
  {
    static ns3::TypeId id = ns3::TypeId("Place").SetParent<ns3::Tag>().AddConstructor<Place>();
    return id;
  }
  ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
  std::uint32_t GetSerializedSize() const override { return 8; }
  void Serialize(ns3::TagBuffer out) const override
  {
    out.WriteU32(flow);
    out.WriteU32(hop);
  }
  void Deserialize(ns3::TagBuffer in) override
  {
    flow = in.ReadU32();
    hop = in.ReadU32();
  }
  void Print(std::ostream& out) const override { out << flow << "/" << hop; }
};

std::vector<Link> links;
std::vector<Flow> flows;
std::uint64_t hops = 0;
std::uint32_t payload = 0;
constexpr std::uint16_t PROTOCOL = 0x0800;

void post(ns3::Ptr<ns3::Packet> packet, const Place& place)
{
  packet->AddPacketTag(place);
  auto& sender = links[flows[place.flow].links[place.hop]].sender;
  NS_ABORT_MSG_UNLESS(sender->Send(packet, sender->GetBroadcast(), PROTOCOL), "a queue is full");
}

void post_next(std::uint32_t flow)
{
  if (flows[flow].left == 0)
    return;
  --flows[flow].left;
  Place place;
  place.flow = flow;
  post(ns3::Create<ns3::Packet>(payload), place);
}

// The first link of a route has started a packet: the next one of its flow waits behind it.
void started(ns3::Ptr<const ns3::Packet> packet)
{
  Place place;
  if (packet->PeekPacketTag(place) && place.hop == 0)
    post_next(place.flow);
}

bool arrived(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, std::uint16_t, const ns3::Address&)
{
  ++hops;
  Place place;
  packet->PeekPacketTag(place);
  auto& flow = flows[place.flow];
  if (++place.hop == flow.links.size()) {
    flow.end = ns3::Simulator::Now().GetPicoSeconds();
    return true;
  }
  ns3::Ptr<ns3::Packet> copy = packet->Copy();
  copy->RemoveAllPacketTags();
  post(copy, place);
  return true;
}

double user_seconds()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6;
}

} // namespace

int main(int argc, char** argv)
{
  ns3::Time::SetResolution(ns3::Time::PS);
  // The point-to-point protocol adds 2 bytes.
  payload = argc > 1 ? std::stoul(argv[1]) - 2 : 0;
  ns3::Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", ns3::StringValue("4000000000p"));
  std::size_t count = 0;
  std::cin >> count;
  links.resize(count);
  for (auto& link : links) {
    std::uint64_t rate = 0;
    std::uint64_t delay = 0;
    std::cin >> rate >> delay;
    ns3::NodeContainer nodes;
    nodes.Create(2);
    ns3::PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(rate)));
    helper.SetDeviceAttribute("Mtu", ns3::UintegerValue(65000));
    helper.SetChannelAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds(delay)));
    auto devices = helper.Install(nodes);
    link.sender = ns3::DynamicCast<ns3::PointToPointNetDevice>(devices.Get(0));
    link.sender->TraceConnectWithoutContext("PhyTxBegin", ns3::MakeCallback(&started));
    devices.Get(1)->SetReceiveCallback(ns3::MakeCallback(&arrived));
  }
  std::cin >> count;
  flows.resize(count);
  for (auto& flow : flows) {
    std::cin >> flow.left >> count;
    flow.links.resize(count);
    for (auto& link : flow.links)
      std::cin >> link;
  }
  if (!std::cin) {
    std::cerr << "the input ends too early\n";
    return 2;
  }
  const double before = user_seconds();
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow)
    ns3::Simulator::ScheduleNow(&post_next, flow);
  ns3::Simulator::Run();
  const double after = user_seconds();
  for (const auto& flow : flows)
    std::cout << flow.end << "\n";
  std::cout << hops << " " << after - before << "\n";
  ns3::Simulator::Destroy();
  return 0;
}
