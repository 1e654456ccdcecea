// One benchmark case in ns-3: greedy flows over a dumbbell, as benches/cases/a.toml has it.
// usage: ns3 QUEUE SECONDS   with QUEUE "red", "drop-tail", "codel", "pie" or "fq-codel";
// prints "RESULT key=value ...", in which logging=1 says that this ns-3 has its logging compiled in
#include <ctime>
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
const uint32_t FLOWS = 100;
const uint32_t SEGMENT = 446;
uint64_t g_arrived = 0;
uint64_t g_dropped = 0;
uint64_t g_bytes = 0;

// CPU time of this process in nanoseconds.
int64_t
Cpu()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void
Sent(Ptr<const Packet> packet)
{
    g_bytes += packet->GetSize();
}
} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 3)
    {
        std::cerr << "usage: ns3 QUEUE SECONDS\n";
        return 2;
    }
    const std::string name = argv[1];
    const double seconds = std::stod(argv[2]);

    // As `peers.rs` sets Quell: NewReno, SACK, each segment acknowledged, packets of 500 bytes with
    // the headers of TCP (32 bytes), IP and PPP.
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TcpPrrRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));

    NodeContainer routers(2);
    PointToPointHelper middle;
    middle.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    middle.SetChannelAttribute("Delay", StringValue("5ms"));
    middle.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    access.SetChannelAttribute("Delay", StringValue("22.5ms"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));

    InternetStackHelper stack;
    stack.Install(routers);
    NetDeviceContainer bottleneck = middle.Install(routers);
    TrafficControlHelper control;
    if (name == "red")
    {
        control.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MaxSize", StringValue("500p"),
                                 "MinTh", DoubleValue(6.25),
                                 "MaxTh", DoubleValue(18.75),
                                 "QW", DoubleValue(0.0004),
                                 "LInterm", DoubleValue(10),
                                 "MeanPktSize", UintegerValue(500),
                                 "LinkBandwidth", StringValue("10Mbps"),
                                 "LinkDelay", StringValue("5ms"));
    }
    else if (name == "codel")
    {
        control.SetRootQueueDisc("ns3::CoDelQueueDisc",
                                 "MaxSize", StringValue("500p"),
                                 "Interval", StringValue("100ms"),
                                 "Target", StringValue("5ms"));
    }
    else if (name == "pie")
    {
        control.SetRootQueueDisc("ns3::PieQueueDisc",
                                 "MaxSize", StringValue("500p"),
                                 "MeanPktSize", UintegerValue(500),
                                 "A", DoubleValue(0.125),
                                 "B", DoubleValue(1.25),
                                 "Tupdate", StringValue("15ms"),
                                 "QueueDelayReference", StringValue("15ms"),
                                 "MaxBurstAllowance", StringValue("150ms"),
                                 "UseDequeueRateEstimator", BooleanValue(false),
                                 "UseDerandomization", BooleanValue(false));
    }
    else if (name == "fq-codel")
    {
        control.SetRootQueueDisc("ns3::FqCoDelQueueDisc",
                                 "MaxSize", StringValue("500p"),
                                 "Flows", UintegerValue(1024),
                                 "Interval", StringValue("100ms"),
                                 "Target", StringValue("5ms"));
    }
    else if (name == "drop-tail")
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("500p"));
    }
    else
    {
        std::cerr << "no queue is called " << name << "\n";
        return 2;
    }
    Ptr<QueueDisc> queue = control.Install(bottleneck.Get(0)).Get(0);
    bottleneck.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Sent));

    Ipv4AddressHelper address;
    address.SetBase("10.0.0.0", "255.255.255.0");
    address.Assign(bottleneck);
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < FLOWS; i++)
    {
        NodeContainer ends(2);
        stack.Install(ends);
        NetDeviceContainer left = access.Install(ends.Get(0), routers.Get(0));
        NetDeviceContainer right = access.Install(routers.Get(1), ends.Get(1));
        address.NewNetwork();
        address.Assign(left);
        address.NewNetwork();
        Ipv4Address to = address.Assign(right).GetAddress(1);
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to, 9));
        source.SetAttribute("SendSize", UintegerValue(SEGMENT));
        source.Install(ends.Get(0)).Start(Seconds(start->GetValue(0, 1)));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        sink.Install(ends.Get(1)).Start(Seconds(0));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Seconds(seconds));
    const int64_t before = Cpu();
    Simulator::Run();
    const int64_t loop = Cpu() - before;
    const QueueDisc::Stats& stats = queue->GetStats();
    g_arrived = stats.nTotalReceivedPackets;
    g_dropped = stats.nTotalDroppedPackets;
    std::cout << "RESULT loop_ns=" << loop << " process_ns=" << Cpu() << " arrived=" << g_arrived
              << " dropped=" << g_dropped << " utilization=" << g_bytes * 8.0 / 10e6 / seconds
              << " logging=" << !LogComponent::GetComponentList()->empty() << std::endl;
    Simulator::Destroy();
    return 0;
}
