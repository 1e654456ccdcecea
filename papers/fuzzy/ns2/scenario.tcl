# Scenarios 1 and 2 of Trinh and Molnár in ns-2 2.35: greedy flows over a link of 15 Mbit/s, as fuzzy-s1 and fuzzy-s2 are
# judged.
#
#     ns scenario.tcl 1 256 ared 1        scenario (1: access delays of 10, 11, ... ms; 2: all 10 ms), flows, algorithm
#                                         (drop-tail, red, ared), seed
#
#   sender --(100 Mbit/s, 10 ms or more)--> A ==(15 Mbit/s, 50 ms, 50 packets)==> B, the sink
#
# The loss is in percent of the packets that arrived at the link, the utilization in percent, the queue in packets, all over
# the 30 s from the start.

if {[llength $argv] != 4} { puts stderr "usage: ns scenario.tcl 1|2 FLOWS drop-tail|red|ared SEED"; exit 2 }
lassign $argv scenario flows algorithm seed
set duration 30.0; set rate 15e6

$defaultRNG seed $seed

# TCP of 2002 and 2003: ns-2 2.1b9 to 2.27. The window is not bounded.
foreach {name value} {packetSize_ 1000 useHeaders_ true window_ 100000 ecn_ 0 singledup_ 1 minrto_ 1 rtxcur_init_ 6
    tcpTick_ 0.01 rfc2988_ true precisionReduce_ false windowInit_ 2 windowInitOption_ 1} { Agent/TCP set $name $value }
Agent/TCPSink set packetSize_ 40
foreach {name value} {thresh_ 10 maxthresh_ 30 linterm_ 10 q_weight_ 0.002 gentle_ true wait_ true setbit_ false
    bytes_ false queue_in_bytes_ false mean_pktsize_ 1000 adaptive_ 0} { Queue/RED set $name $value }
if {$algorithm eq "ared"} {
    # ns-2 sets the weight by itself.
    Queue/RED set adaptive_ 1; Queue/RED set q_weight_ 0.0
}

set ns [new Simulator]
set A [$ns node]; set B [$ns node]
$ns simplex-link $A $B $rate 50ms [expr {$algorithm eq "drop-tail" ? "DropTail" : "RED"}]
$ns simplex-link $B $A $rate 50ms DropTail
# ns-2's queue of 51 packets holds 50 of them.
$ns queue-limit $A $B 51
$ns queue-limit $B $A 100000

for {set i 0} {$i < $flows} {incr i} {
    set sender [$ns node]
    $ns duplex-link $sender $A 100e6 [expr {($scenario == 1 ? 10.0 + $i : 10.0) / 1e3}] DropTail
    $ns queue-limit $sender $A 100000; $ns queue-limit $A $sender 100000
    set agent [new Agent/TCP/Reno]; set sink [new Agent/TCPSink]
    $ns attach-agent $sender $agent; $ns attach-agent $B $sink; $ns connect $agent $sink
    set ftp [new Application/FTP]; $ftp attach-agent $agent
    $ns at 0 "$ftp start"
}

set monitor [$ns monitor-queue $A $B ""]
set n 0; set sum 0.0
proc sample {} {
    global ns monitor n sum
    incr n; set sum [expr {$sum + [$monitor set pkts_]}]
    $ns at [expr {[$ns now] + 0.01}] sample
}
proc finish {} {
    global monitor n sum scenario flows algorithm seed rate duration
    puts [format "S%s flows=%s %s seed=%s loss=%.4f utilization=%.3f queue=%.3f" $scenario $flows $algorithm $seed \
        [expr {100.0 * [$monitor set pdrops_] / [$monitor set parrivals_]}] \
        [expr {800.0 * [$monitor set bdepartures_] / ($rate * $duration)}] [expr {$sum / $n}]]
    exit 0
}
$ns at 0 sample
$ns at $duration finish
$ns run
