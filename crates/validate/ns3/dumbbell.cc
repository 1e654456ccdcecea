// One experiment in ns-3: greedy TCP flows over a dumbbell. Prints a line of runs.csv.
// usage: dumbbell --queue=red --tcp=cubic --rate=10e6 --rtt=100 --flows=10 --seed=1
#include <cmath>
#include <iostream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{
// The packets that wait: those of the queue disc, and the one that waits in the device.
uint32_t g_disc = 0;
uint32_t g_device = 0;
double g_last = 0;
double g_area = 0;
double g_area2 = 0;
uint64_t g_sent = 0;
uint64_t g_arrived = 0;
uint64_t g_dropped = 0;

void
Integrate()
{
    const double now = Simulator::Now().GetSeconds();
    const double queue = g_disc + g_device;
    g_area += queue * (now - g_last);
    g_area2 += queue * queue * (now - g_last);
    g_last = now;
}

void
DiscLength(uint32_t, uint32_t packets)
{
    Integrate();
    g_disc = packets;
}

void
DeviceLength(uint32_t, uint32_t packets)
{
    Integrate();
    g_device = packets;
}

void
Sent(Ptr<const Packet> packet)
{
    g_sent += packet->GetSize();
}

void
Arrived(Ptr<const QueueDiscItem>)
{
    g_arrived++;
}

// Dropped on arrival, which is then no arrival to the disc's "Enqueue".
void
DroppedBefore(Ptr<const QueueDiscItem>, const char*)
{
    g_arrived++;
    g_dropped++;
}

void
DroppedAfter(Ptr<const QueueDiscItem>, const char*)
{
    g_dropped++;
}

void
Reset()
{
    Integrate();
    g_area = g_area2 = 0;
    g_sent = g_arrived = g_dropped = 0;
}
} // namespace

int
main(int argc, char* argv[])
{
    std::string queue = "drop-tail";
    std::string tcp = "newreno";
    double rate = 10e6;
    double rtt = 100;
    uint32_t flows = 10;
    double seconds = 60;
    double warmup = 10;
    uint32_t seed = 1;
    CommandLine cmd(__FILE__);
    cmd.AddValue("queue", "drop-tail, red, codel, pie, cobalt or fq-codel", queue);
    cmd.AddValue("tcp", "newreno or cubic", tcp);
    cmd.AddValue("rate", "of the bottleneck, bit/s", rate);
    cmd.AddValue("rtt", "mean round-trip time without queues, ms", rtt);
    cmd.AddValue("flows", "how many", flows);
    cmd.AddValue("seconds", "length of the run", seconds);
    cmd.AddValue("warmup", "what is left out at its beginning, s", warmup);
    cmd.AddValue("seed", "of the starting times and the queue", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);

    const auto control = tcp == "cubic" ? TcpCubic::GetTypeId() : TcpNewReno::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(control));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));

    NodeContainer routers(2);
    PointToPointHelper middle;
    middle.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    middle.SetChannelAttribute("Delay", StringValue("1ms"));
    middle.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));

    InternetStackHelper stack;
    stack.Install(routers);
    NetDeviceContainer bottleneck = middle.Install(routers);
    // Packets of the full size in a mean round-trip time.
    const uint32_t bdp = std::round(rate * rtt / 1e3 / 8 / 1502);
    TrafficControlHelper control_layer;
    if (queue == "red")
    {
        control_layer.SetRootQueueDisc("ns3::RedQueueDisc",
                                       "MaxSize", StringValue("1000p"),
                                       "MinTh", DoubleValue(std::round(bdp * 0.25)),
                                       "MaxTh", DoubleValue(std::round(bdp * 0.75)),
                                       "QW", DoubleValue(0.002),
                                       "LInterm", DoubleValue(10),
                                       "Gentle", BooleanValue(true),
                                       "Wait", BooleanValue(true),
                                       "MeanPktSize", UintegerValue(1500),
                                       "LinkBandwidth", DataRateValue(DataRate(static_cast<uint64_t>(rate))),
                                       "LinkDelay", StringValue("1ms"));
    }
    else if (queue == "codel")
    {
        control_layer.SetRootQueueDisc("ns3::CoDelQueueDisc",
                                       "MaxSize", StringValue("1000p"),
                                       "Interval", StringValue("100ms"),
                                       "Target", StringValue("5ms"));
    }
    else if (queue == "pie")
    {
        control_layer.SetRootQueueDisc("ns3::PieQueueDisc",
                                       "MaxSize", StringValue("1000p"),
                                       "MeanPktSize", UintegerValue(1500),
                                       "A", DoubleValue(0.125),
                                       "B", DoubleValue(1.25),
                                       "Tupdate", StringValue("15ms"),
                                       "QueueDelayReference", StringValue("15ms"),
                                       "MaxBurstAllowance", StringValue("150ms"),
                                       "UseDequeueRateEstimator", BooleanValue(false),
                                       "UseDerandomization", BooleanValue(false));
    }
    else if (queue == "cobalt")
    {
        control_layer.SetRootQueueDisc("ns3::CobaltQueueDisc",
                                       "MaxSize", StringValue("1000p"),
                                       "Interval", StringValue("100ms"),
                                       "Target", StringValue("5ms"));
    }
    else if (queue == "fq-codel")
    {
        control_layer.SetRootQueueDisc("ns3::FqCoDelQueueDisc",
                                       "MaxSize", StringValue("10240p"),
                                       "Interval", StringValue("100ms"),
                                       "Target", StringValue("5ms"));
    }
    else
    {
        control_layer.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::to_string(bdp) + "p"));
    }
    Ptr<QueueDisc> disc = control_layer.Install(bottleneck.Get(0)).Get(0);
    disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DiscLength));
    disc->TraceConnectWithoutContext("Enqueue", MakeCallback(&Arrived));
    disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&DroppedBefore));
    disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&DroppedAfter));
    auto device = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0));
    device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DeviceLength));
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Sent));

    Ipv4AddressHelper address;
    address.SetBase("10.0.0.0", "255.255.255.0");
    address.Assign(bottleneck);
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < flows; i++)
    {
        // Round-trip times from 0.8 to 1.2 of the mean: flow i in the middle of the i-th part.
        const double own = rtt * (0.8 + 0.4 * (i + 0.5) / flows);
        const Time delay = NanoSeconds(static_cast<int64_t>((own / 2 - 1) / 2 * 1e6));
        access.SetChannelAttribute("Delay", TimeValue(delay));
        NodeContainer ends(2);
        stack.Install(ends);
        NetDeviceContainer left = access.Install(ends.Get(0), routers.Get(0));
        NetDeviceContainer right = access.Install(routers.Get(1), ends.Get(1));
        address.NewNetwork();
        address.Assign(left);
        address.NewNetwork();
        Ipv4Address to = address.Assign(right).GetAddress(1);
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to, 9));
        source.Install(ends.Get(0)).Start(Seconds(start->GetValue(0, 1)));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        ApplicationContainer app = sink.Install(ends.Get(1));
        app.Start(Seconds(0));
        sinks.Add(app);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Schedule(Seconds(warmup), &Reset);
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    Integrate();
    const double window = seconds - warmup;
    const double mean = g_area / window;
    std::cout << queue << "," << tcp << "," << rate / 1e6 << "," << rtt << "," << flows << "," << bdp << "," << seconds
              << "," << warmup << "," << seed << "," << g_sent * 8.0 / rate / window << ","
              << static_cast<double>(g_dropped) / g_arrived << "," << mean << ","
              << std::sqrt(g_area2 / window - mean * mean) << "," << g_arrived << "," << g_dropped << std::endl;
    Simulator::Destroy();
    return 0;
}
